// The texts of the reports whose contrast with what lies behind them is below `least`, as a record: text -> ratio.
least => {
  const pixel = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = colour => {
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = colour;
    pixel.fillRect(0, 0, 1, 1);
    return [...pixel.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const linear = x => (x / 255 <= 0.03928 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const over = (top, below) => [0, 1, 2].map(i => (top[i] * top[3] + below[i] * (255 - top[3])) / 255);
  const behind = element => {
    const layers = [];
    for (let e = element; e !== null; e = e.parentElement) {
      layers.push(rgba(getComputedStyle(e).backgroundColor));
      if (layers.at(-1)[3] === 255) {
        break;
      }
    }
    return layers.reduceRight((below, top) => over(top, below), [255, 255, 255]);
  };
  const poor = {};
  for (const report of document.querySelectorAll('.wb-report')) {
    const texts = document.createTreeWalker(report, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement;
      const text = texts.currentNode.textContent.trim();
      if (text === '' || element.closest('svg, [aria-disabled="true"], .wb-sr-only') !== null) {
        continue;
      }
      const ground = behind(element);
      const [light, dark] = [luminance(ground), luminance(over(rgba(getComputedStyle(element).color), ground))];
      const ratio = (Math.max(light, dark) + 0.05) / (Math.min(light, dark) + 0.05);
      if (ratio < least) {
        poor[text] = Math.round(ratio * 100) / 100;
      }
    }
  }
  return poor;
}
