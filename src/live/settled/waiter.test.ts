import { TestClock } from "percolatordb/testing";
import { expect, test } from "vitest";
import { openTest } from "../../../test/support/observer/context.js";
import { cells, chain } from "../../../test/support/settling.js";
import { unregister } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import { Waiter } from "./waiter.js";

const bytes = (text: string) => Buffer.from(text);
const cellOf = (column: string) => ({ table: "cells", row: bytes("r"), column: bytes(column) });

/** An entry of a run of `a-to-b`, which wrote column b. */
const entryOf = (commitTimestamp: number, upTo: number) => ({
  commitTimestamp,
  label: undefined,
  observer: "a-to-b",
  handled: [{ observer: "a-to-b", cell: cellOf("a"), upTo, isParked: false }],
  writes: [{ ...cellOf("b"), value: undefined }],
});

const dueOf = (waiter: Waiter) => waiter.due.map((due) => [due.observer, due.commitTimestamp]);

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
    expect(dueOf(waiter)).toEqual([["b-to-c", from + 10]]);
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
    expect(dueOf(waiter)).toEqual([["b-to-c", from + 3]]);
  } finally {
    await close();
  }
});

test("entries that come twice count once, as when a waiter joins while the others read a batch", async () => {
  const { registry, close } = await openTest({ observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    const from = view.at + 10;
    const root = { ...entryOf(from, 0), observer: undefined, handled: [] };
    const [ran] = entryOf(from + 2, from + 1).handled;
    const handled = [{ ...ran!, observer: "b-to-c", cell: cellOf("b") }];
    const run = { ...entryOf(from + 2, 0), handled, observer: "b-to-c", writes: [] };
    const waiter = new Waiter(registry, () => true, { position: from - 1, root: from });
    const first = { entries: [root], upTo: from + 1 };
    await waiter.read(first, view);
    await waiter.read(first, view);
    expect(dueOf(waiter)).toEqual([["b-to-c", from]]);
    await waiter.read({ entries: [root, run], upTo: from + 3 }, view);
    await waiter.done;
  } finally {
    await close();
  }
});

test("an observer that was unregistered and registered again owes nothing for what was before", async () => {
  const { registry, close, transact } = await openTest({ observers: chain, tables: [cells] });
  try {
    const known = await registry.reload();
    await transact((tx) => tx.set(cells.other, "r", 1));
    const at = await currentTimestamp(registry.context);
    const change = { observer: "b-to-c", cell: cellOf("b"), commitTimestamp: at };
    const waiter = new Waiter(registry, () => true, { position: at, due: [change] });
    await waiter.read({ entries: [], upTo: at }, known);
    expect(dueOf(waiter)).toEqual([["b-to-c", at]]);
    await unregister(registry, "b-to-c");
    await registry.register([cells], [chain[1]!]);
    await waiter.read(
      { entries: [], upTo: await currentTimestamp(registry.context) },
      await registry.reload(),
    );
    await waiter.done;
  } finally {
    await close();
  }
});

test("a change without a hint is due until all is read that may say that it was handled", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const { registry, transact, close } = await openTest({ environment, observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    await transact((tx) => tx.set(cells.other, "r", 0));
    const at = await currentTimestamp(registry.context);
    const change = { observer: "b-to-c", cell: cellOf("b"), commitTimestamp: at };
    const waiter = new Waiter(registry, () => true, { position: at, due: [change] });
    await clock.advance(2_000);
    await transact((tx) => tx.set(cells.other, "r", 1));
    await waiter.lookAtLongDue();
    await waiter.lookAtLongDue();
    expect(dueOf(waiter)).toEqual([["b-to-c", at]]);
    const [first] = entryOf(at, at).handled;
    const handled = [{ ...first!, observer: "b-to-c", cell: cellOf("b") }];
    // The run had removed the hint a moment ago, and what it wrote is followed.
    const run = {
      ...entryOf(at + 1, at),
      handled,
      observer: "b-to-c",
      writes: [{ ...cellOf("c"), value: undefined }],
    };
    await waiter.read({ entries: [run], upTo: await currentTimestamp(registry.context) }, view);
    expect(dueOf(waiter)).toEqual([["c-to-d", at + 1]]);
  } finally {
    await close();
  }
});

test("an entry that has handled several changes removes them all, and what it changed is followed once", async () => {
  const { registry, close } = await openTest({ observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    const from = view.at + 10;
    const ofB = { observer: "b-to-c", cell: cellOf("b") };
    const ofA = { observer: "a-to-b", cell: cellOf("a") };
    const due = [ofA, ofB].map((each) => ({ ...each, commitTimestamp: from }));
    const waiter = new Waiter(registry, () => true, { position: from, due });
    const handled = [ofA, ofB].map((each) => ({ ...each, upTo: from + 1, isParked: false }));
    const run = { ...entryOf(from + 2, 0), handled, writes: [{ ...cellOf("c"), value: undefined }] };
    await waiter.read({ entries: [run], upTo: from + 2 }, view);
    expect(dueOf(waiter)).toEqual([["c-to-d", from + 2]]);
  } finally {
    await close();
  }
});

test("a change that a hint and the entry of a run both name is due once", async () => {
  const { registry, close } = await openTest({ observers: chain, tables: [cells] });
  try {
    const view = await registry.reload();
    const from = view.at + 10;
    const due = [{ observer: "b-to-c", cell: cellOf("b"), commitTimestamp: from }];
    const waiter = new Waiter(registry, () => true, { position: from - 1, due, allRunsUpTo: from + 1 });
    await waiter.read({ entries: [entryOf(from, from - 1)], upTo: from }, view);
    expect(dueOf(waiter)).toEqual([["b-to-c", from]]);
  } finally {
    await close();
  }
});
