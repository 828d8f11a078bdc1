import type { EndSignal } from "./io.js";

/** The exit codes of the command line. `percolator --help` documents them. */
export const exitCodes = Object.freeze({
  ok: 0,
  /**
   * The command ran, but the result is negative: nothing was found, a check failed, a store cannot
   * be opened, or a deadline passed.
   */
  data: 1,
  /** The command line is wrong: an unknown word, table, column or observer, or a bad option, key or value. */
  usage: 2,
  /**
   * The worker has nothing left to run: its observers were unregistered, or are registered in newer
   * versions.
   */
  obsolete: 3,
  /** The output could not be written: the disk is full, or the device fails. */
  output: 4,
  /** The reader of the output is gone. Shells use the same code: 128 plus the number of SIGPIPE. */
  closed: 141,
});

/** The exit code of a signal. Shells use the same code: 128 plus the signal's number. */
export function exitCodeOf(signal: EndSignal): number {
  return signal === "SIGINT" ? 130 : 143;
}
