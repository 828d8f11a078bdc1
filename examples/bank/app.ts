/**
 * The application module for `percolator worker LOCATION examples/bank/app.ts`, so that several
 * processes can share the audit of one bank.
 */
import { audit } from "./audit.js";
import { tables } from "./tables.js";

// biome-ignore lint/style/noDefaultExport: what the command line takes
export default { tables, observers: [audit] };
