/**
 * What `percolator worker LOCATION examples/embeddings/app.ts` takes, for processes that share the
 * embedding of one index.
 */
import { observersOf } from "./observers.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers: observersOf() };
