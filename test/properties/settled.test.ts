import fc from "fast-check";
import { type Column, type Database, int, type Observer, observer, table } from "percolatordb";
import { describe, expect, test } from "vitest";
import { everyVariant, withTwo } from "../support/databases.js";
import { commit, stuck } from "../support/settling.js";
import { patienceMs } from "../support/waiting.js";

const columns = 5;
const rows = 3;
const graph = table("graph", { c0: int(), c1: int(), c2: int(), c3: int(), c4: int(), other: int() });
const columnOf = (index: number): Column<number> =>
  [graph.c0, graph.c1, graph.c2, graph.c3, graph.c4][index] as Column<number>;
const rowOf = (index: number) => `row ${index % rows}`;

/** An observer copies a column to another column, in a row further down. */
interface Edge {
  readonly from: number;
  readonly to: number;
  readonly down: number;
}

interface Change {
  readonly column: number;
  readonly row: number;
  /** The changes of one process follow each other, those of several do not wait. */
  readonly writer: number;
  readonly isUnrelated: boolean;
}

const edges = fc.uniqueArray(
  fc.record({ from: fc.nat(columns - 1), to: fc.nat(columns - 1), down: fc.nat(rows - 1) }),
  { minLength: 1, maxLength: 8, selector: ({ from, to, down }) => `${from} ${to} ${down}` },
);
const changes = fc.array(
  fc.record({
    column: fc.nat(columns - 1),
    row: fc.nat(rows - 1),
    writer: fc.nat(2),
    isUnrelated: fc.boolean(),
  }),
  { minLength: 1, maxLength: 15 },
);

/** Values only grow, so cycles of observers end. */
const observerOf = ({ from, to, down }: Edge): Observer =>
  observer(`e${from}-${to}-${down}`, columnOf(from), async (tx, { row, value }) => {
    const target = rowOf(Number(row.slice("row ".length)) + down);
    if (value! > ((await tx.get(columnOf(to), target)) ?? 0)) tx.set(columnOf(to), target, value!);
  });

/** The cells to which observers copy a change of one cell. */
function targetsOf(graphEdges: readonly Edge[], [column, row]: readonly [number, number]) {
  return graphEdges
    .filter(({ from }) => from === column)
    .map(({ to, down }): readonly [number, number] => [to, (row + down) % rows]);
}

/** Commits a change, waits until it is settled, and reads everything that it reaches. */
async function check(
  db: Database,
  waiting: Database,
  graphEdges: readonly Edge[],
  { column, row }: Change,
  value: number,
): Promise<void> {
  const { commitTimestamp } = await db.transact(async (tx) => {
    // A lower value would be handled together with a higher one that is still due.
    if (((await tx.get(columnOf(column), rowOf(row))) ?? 0) < value)
      tx.set(columnOf(column), rowOf(row), value);
    return tx;
  });
  if (commitTimestamp === undefined) return;
  await waiting.settled(commitTimestamp, { timeoutMs: patienceMs });
  await using snapshot = await waiting.snapshot();
  const cells: (readonly [number, number])[] = [[column, row]];
  const seen = new Set<string>();
  for (const cell of cells) {
    const [toColumn, toRow] = cell;
    if (seen.has(cell.join())) continue;
    seen.add(cell.join());
    const found = (await snapshot.get(columnOf(toColumn), rowOf(toRow))) ?? 0;
    const what = `c${toColumn}, row ${toRow} after ${value} in c${column}, row ${row}`;
    expect(found, what).toBeGreaterThanOrEqual(value);
    // A greater value came from another commit. Where it goes on, that commit has caused it.
    if (found === value) cells.push(...targetsOf(graphEdges, cell));
  }
}

const countOf = ({ store, commit: how }: (typeof everyVariant)[number]) =>
  store === "memory" ? 12 : store === "lmdb" && how === "auto" ? 5 : 2;

describe.each(everyVariant)("random graphs of observers on $store, $commit", (variant) => {
  test("after db.settled, all that a change reaches is as new as the change, whatever else is stuck", async () => {
    await fc.assert(
      fc.asyncProperty(edges, changes, async (graphEdges, made) => {
        const hanging = stuck("hanging", graph.other);
        const observers = [...graphEdges.map(observerOf), hanging.observer];
        await withTwo(variant, { observers }, async (one, other) => {
          await using _ = other.work({ concurrency: 8 });
          // The first call may wait for all that is newer than its commit, also for what is stuck.
          await one.settled(await commit(one, (tx) => tx.set(graph.c0, "warm", 0)));
          let last = 0;
          const work = async (writer: number) => {
            const db = writer === 1 ? other : one;
            for (const change of made) {
              if (change.writer !== writer) continue;
              if (change.isUnrelated)
                await commit(db, (tx) => tx.set(graph.other, rowOf(change.row), ++last));
              await check(db, one, graphEdges, change, ++last);
            }
          };
          try {
            await Promise.all([work(0), work(1), work(2)]);
          } finally {
            hanging.letGo();
          }
        });
      }),
      { numRuns: countOf(variant) },
    );
  });
});
