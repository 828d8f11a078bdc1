/**
 * What `percolator worker LOCATION examples/webindex/app.ts` takes, for processes that share the
 * work of one index.
 */
import { observers } from "./observers/index.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers };
