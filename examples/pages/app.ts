/**
 * The application module for `percolator worker LOCATION examples/pages/app.ts`, so that several
 * processes can share the rendering of one site.
 */
import { observers } from "./observers.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers };
