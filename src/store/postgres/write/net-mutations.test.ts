import { expect, test } from "vitest";
import { SeededRandom } from "../../../testing/world/index.js";
import type { Part } from "../../cell.js";
import { commitTimestamp, type Mutation } from "../../mutation.js";
import { type CellChange, netMutations } from "./net-mutations.js";

const column = Buffer.from("c");
const value = Buffer.from("v");
const changeOf = (cell: string, mutation: Mutation): CellChange => ({
  table: 1,
  row: Buffer.from(cell),
  cell,
  mutation,
});

test("a delete looks only at the versions of its own cell", () => {
  // With each delete looking at all puts, these would be 15 billion looks.
  const count = 100_000;
  const put = { type: "put", column, part: "write", timestamp: commitTimestamp, value } as const;
  const older = { type: "delete", column, part: "write", from: 2, to: Number.POSITIVE_INFINITY } as const;
  const cells = Array.from({ length: count }, (_, i) => `${i}`);
  // As a one-phase commit with one observer: the values, and then the hints, each in place of the older ones.
  const { deletes, puts } = netMutations([
    ...cells.map((cell) => changeOf(cell, put)),
    ...cells.flatMap((cell) => [older, put].map((each) => changeOf(`hint ${cell}`, each))),
  ]);
  expect([deletes.length, puts.length]).toEqual([count, 2 * count]);
});

test("the net mutations leave what the mutations leave, one after another", () => {
  const random = new SeededRandom("1");
  const pick = (end: number) => random.below(end);
  for (let round = 0; round < 300; round++) {
    const changes = Array.from({ length: pick(12) }, (_, i) => {
      const part: Part = pick(2) === 0 ? "write" : "data";
      const from = pick(6);
      return changeOf(
        `${pick(3)}`,
        pick(2) === 0
          ? { type: "put", column, part, timestamp: from, value: Buffer.from([i]) }
          : { type: "delete", column, part, from, to: from + pick(4) },
      );
    });
    const { deletes, puts } = netMutations(changes);
    // Older versions, which only a delete removes.
    const older = ["0", "1", "2"].flatMap((cell) =>
      [0, 3, 7].map((timestamp) => changeOf(cell, { type: "put", column, part: "data", timestamp, value })),
    );
    expect(left([...older, ...deletes, ...puts])).toEqual(left([...older, ...changes]));
    expect(new Set(puts.map(nameOf)).size).toBe(puts.length);
  }
});

const nameOf = ({ cell, mutation }: CellChange) =>
  `${cell} ${mutation.part} ${mutation.type === "put" ? mutation.timestamp : ""}`;

/** The versions that are left of mutations which are applied one after another. */
function left(changes: readonly CellChange[]): ReadonlyMap<string, Uint8Array> {
  const versions = new Map<string, CellChange>();
  for (const change of changes) {
    const { cell, mutation } = change;
    if (mutation.type === "put") versions.set(nameOf(change), change);
    else {
      for (const [name, { cell: other, mutation: put }] of versions) {
        if (put.type !== "put" || other !== cell || put.part !== mutation.part) continue;
        if (put.timestamp >= mutation.from && put.timestamp < mutation.to) versions.delete(name);
      }
    }
  }
  return new Map(
    [...versions].map(([name, { mutation }]) => [name, mutation.type === "put" ? mutation.value : value]),
  );
}
