// Bundles the front end with esbuild. Default: the anywidget modules and the style sheet into
// ../workbench/notebook/static, and the entries that `build-labextension` packs into lib/.
// --tests: the unit tests into lib/test. --harness: a page with sample reports into harness/out.
import { build } from 'esbuild';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';

const STATIC = '../workbench/notebook/static';

const common = {
  bundle: true,
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning'
};

async function entries(folder, pattern) {
  return (await readdir(folder)).filter(name => pattern.test(name)).map(name => `${folder}/${name}`);
}

async function buildCore() {
  await rm('lib', { recursive: true, force: true }); // the names of its chunks change with their content
  await build({
    ...common,
    entryPoints: await entries('src/anywidget', /\.ts$/),
    outdir: STATIC,
    minify: true
  });
  await build({ ...common, entryPoints: ['src/styles/report.css'], outdir: STATIC, minify: true });
  // What JupyterLab provides stays an import: build-labextension links it to the running application's own copy.
  await build({
    ...common,
    entryPoints: ['src/labextension/index.ts', 'src/labextension/mime.ts'],
    external: ['@lumino/*', '@jupyterlab/*'],
    outdir: 'lib',
    splitting: true,
    chunkNames: 'core-[hash]'
  });
  await copyFile(`${STATIC}/report.css`, 'lib/report.css');
}

async function buildTests() {
  await build({
    ...common,
    entryPoints: await entries('test', /\.test\.tsx?$/),
    outdir: 'lib/test',
    outExtension: { '.js': '.mjs' },
    platform: 'node'
  });
}

async function buildHarness() {
  await mkdir('harness/out', { recursive: true });
  await build({ ...common, entryPoints: ['harness/harness.tsx'], outdir: 'harness/out' });
  await build({ ...common, entryPoints: ['src/styles/report.css'], outdir: 'harness/out' });
}

if (process.argv.includes('--tests')) {
  await buildTests();
} else if (process.argv.includes('--harness')) {
  await buildHarness();
} else {
  await buildCore();
}
