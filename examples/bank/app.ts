/**
 * What `percolator worker LOCATION examples/bank/app.ts` takes, for processes that share the
 * auditing of one bank.
 */
import { audit } from "./audit.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers: [audit] };
