import type { Writer } from "../api/index.js";
import { unnamedTransaction } from "../recording/winners.js";
import type { GatheredReports } from "../sources/gathered.js";

/** Finds the transactions that committed at these timestamps, as far as a process remembers them. */
export async function writersOf(
  gathered: GatheredReports,
  timestamps: readonly number[],
): Promise<(commitTimestamp: number) => Writer | undefined> {
  const [transactions, remembered] = [await gathered.everyTransaction(), await gathered.writers(timestamps)];
  const writers = new Map(transactions.map((each) => [each.commitTimestamp, each]));
  return (commitTimestamp) => {
    const writer = writers.get(commitTimestamp);
    if (writer !== undefined) {
      const { id, label, observer, process } = writer;
      return { name: observer ?? label, isObserver: observer !== undefined, process, id };
    }
    // Who wrote is remembered longer than what was done.
    const known = remembered.get(commitTimestamp);
    return known && { ...known, name: known.name === unnamedTransaction ? undefined : known.name };
  };
}
