import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { cells, chain } from "../../../test/support/settling.js";
import { Waiter } from "./waiter.js";

const bytes = (text: string) => Buffer.from(text);
const cellOf = (column: string) => ({ table: "cells", row: bytes("r"), column: bytes(column) });

/** An entry of a run of `a-to-b`, which wrote column b. */
const entryOf = (commitTimestamp: number, upTo: number) => ({
  commitTimestamp,
  label: undefined,
  observer: "a-to-b",
  handled: { observer: "a-to-b", cell: cellOf("a"), upTo, isParked: false },
  writes: [{ ...cellOf("b"), value: undefined }],
});

test("every run that committed while the hints were read counts, and no later one", async () => {
  const { registry, close } = await openTest({ observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    const from = view.at + 10;
    const waiter = new Waiter(registry, () => true, { position: from, allRunsUpTo: from + 10 });
    waiter.endIfDone();
    expect(waiter.hasEnded).toBe(false);
    const entries = [entryOf(from + 10, from + 5), entryOf(from + 11, from + 11)];
    await waiter.read({ entries, upTo: from + 20 }, view);
    expect(waiter.due.map(({ observer, commitTimestamp }) => [observer, commitTimestamp])).toEqual([
      ["b-to-c", from + 10],
    ]);
    expect(waiter.hasEnded).toBe(false);
  } finally {
    await close();
  }
});

test("the first run that began at or after a change counts, of several that handle it", async () => {
  const { registry, close } = await openTest({ observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    const from = view.at + 10;
    const change = { observer: "a-to-b", cell: cellOf("a"), commitTimestamp: from };
    const waiter = new Waiter(registry, () => true, { position: from, due: [change] });
    const entries = [entryOf(from + 1, from - 1), entryOf(from + 3, from), entryOf(from + 5, from + 4)];
    await waiter.read({ entries, upTo: from + 20 }, view);
    expect(waiter.due.map(({ observer, commitTimestamp }) => [observer, commitTimestamp])).toEqual([
      ["b-to-c", from + 3],
    ]);
  } finally {
    await close();
  }
});
