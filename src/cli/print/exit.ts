import type { EndSignal } from "./io.js";

/** What the command line answers to its caller; documented in `percolator --help`. */
export const exitCodes = Object.freeze({
  ok: 0,
  /** The data says no: nothing there, problems found, a store that cannot be opened, a deadline that passed. */
  data: 1,
  /** The command cannot be meant: an unknown word, table or column, a bad option, key or value. */
  usage: 2,
  /** A worker has nothing to run any more: its observers were unregistered, or are registered in newer versions. */
  obsolete: 3,
  /** What was printed could not be written: no room, or a device that fails. */
  output: 4,
  /** The reader of the output is gone. As shells have it: 128 and the number of SIGPIPE. */
  closed: 141,
});

/** As shells have it: 128 and the signal's number. */
export function exitCodeOf(signal: EndSignal): number {
  return signal === "SIGINT" ? 130 : 143;
}
