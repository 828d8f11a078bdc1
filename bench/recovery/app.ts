import { int, type Observer, observer, table, text } from "percolatordb";

export const documents = table("documents", { contents: text(), length: int(), runs: int() });

/** What the workers of this measurement run: each run waits as long as one would that calls a service, for example. */
export function appOf(workMs: number): {
  readonly tables: [typeof documents];
  readonly observers: [Observer];
} {
  const lengths = observer("lengths", documents.contents, async (tx, { row, value }) => {
    await new Promise((resolve) => setTimeout(resolve, workMs));
    tx.set(documents.length, row, value?.length ?? 0);
    tx.set(documents.runs, row, ((await tx.get(documents.runs, row)) ?? 0) + 1);
  });
  return { tables: [documents], observers: [lengths] };
}
