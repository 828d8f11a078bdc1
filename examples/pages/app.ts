/**
 * What `percolator worker LOCATION examples/pages/app.ts` takes, for processes that share the
 * rendering of one site.
 */
import { observers } from "./observers.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers };
