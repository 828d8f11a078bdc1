import { int, observer, table } from "percolatordb";

/** Values, and how often an observer has seen each row change. */
export const counted = table("counted", { value: int(), seen: int(), runs: int() });

/** Adds up the values that it sees, so that a change that is lost or handled twice shows. */
export const count = observer("count", counted.value, async (tx, { row, value, previous }) => {
  const seen = (await tx.get(counted.seen, row)) ?? 0;
  tx.set(counted.seen, row, seen + (value ?? 0) - (previous ?? 0));
  tx.set(counted.runs, row, ((await tx.get(counted.runs, row)) ?? 0) + 1);
});
