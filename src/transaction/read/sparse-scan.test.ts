import { expect, test } from "vitest";
import { busyLoop } from "../../../test/support/busy-loop.js";
import { bareContext } from "../../../test/support/context.js";
import { table, text } from "../../schema/index.js";
import type { RowStore, ZeroCopyStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { Yielding } from "../yielding.js";
import { Snapshot } from "./snapshot.js";

const pages = table("pages", { title: text(), rare: text() });
const pageCount = 1_000;

/** A store whose ranges have a thousand pages, without a cell in any. */
function emptyPages(isLent: boolean): RowStore {
  let left = pageCount;
  const next = () => (--left > 0 ? { row: Buffer.from(String(left)) } : undefined);
  const zeroCopy: ZeroCopyStore = {
    cell: () => undefined,
    column: () => ({ next: next(), stopped: false, cells: 0 }),
  };
  return Object.assign(memoryStore(), {
    readRange: () => ({ rows: [], next: next() }),
    ...(isLent ? { zeroCopy } : {}),
  });
}

test.each([false, true])(
  "a scan that finds nothing in many pages gives the event loop turns (lent: %s)",
  async (isLent) => {
    const loop = busyLoop(0);
    const context = { ...bareContext(emptyPages(isLent)), yielding: new Yielding(loop.environment) };
    const snapshot = new Snapshot(context, 1);
    for await (const _ of snapshot.scan(pages.rare)) expect.unreachable();
    expect(loop.turns).toBeGreaterThan(10);
    await snapshot.close();
  },
);

test("so do reads of rows that have no cells", async () => {
  const loop = busyLoop(0);
  const context = { ...bareContext(memoryStore()), yielding: new Yielding(loop.environment) };
  const snapshot = new Snapshot(context, 1);
  for (let row = 0; row < 2_048; row++) await snapshot.row(pages, String(row));
  expect(loop.turns).toBe(2);
  await snapshot.close();
});
