import type { Database } from "../../database/index.js";
import type { Transaction } from "../../transaction/index.js";
import type { Cli } from "../cli.js";
import { showTimestamp } from "../time.js";

/** Runs a command's transaction, commits it, and prints the commit timestamp. */
export async function printCommit(
  cli: Cli,
  db: Database,
  label: string,
  run: (tx: Transaction) => void | Promise<void>,
): Promise<void> {
  let committed: Transaction | undefined;
  const remember = async (tx: Transaction) => {
    await run(tx);
    committed = tx;
  };
  await db.transact(remember, { label: `percolator ${label}`, signal: cli.signal });
  const commitTimestamp = committed?.commitTimestamp;
  const time = commitTimestamp === undefined ? undefined : showTimestamp(commitTimestamp);
  await cli.print({ commitTimestamp: commitTimestamp ?? null, time: time ?? null }, () => [
    time === undefined ? "nothing to commit" : `committed at ${commitTimestamp} (${time})`,
  ]);
}
