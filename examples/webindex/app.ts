/**
 * The application module for `percolator worker LOCATION examples/webindex/app.ts`, so that several
 * processes can share the work of one index.
 */
import { observers } from "./observers/index.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers };
