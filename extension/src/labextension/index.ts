/** The package's main module: what other extensions may use. */
export { rendererFactory } from './mime';
export { MIME_TYPE } from '../report';
