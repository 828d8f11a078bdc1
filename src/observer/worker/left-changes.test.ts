import { describe, expect, test } from "vitest";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { documents } from "../../../test/support/observer/documents.js";
import { TestEnvironment } from "../../../test/support/observer/environment.js";
import { sleep } from "../../environment/index.js";
import type { RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { observer } from "../index.js";

/** A process whose runs the test can hold. */
class TestPeer {
  db!: TestDatabase;
  /** Rows of the runs that have ended, and when. */
  readonly ran = new Map<string, number>();
  /** How long each run takes, in milliseconds. */
  runMs = 0;
  #held: (() => void)[] | undefined;

  readonly observer = observer(
    "noted",
    documents.contents,
    async (_tx, { row }) => {
      if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve));
      if (this.runMs > 0) await sleep(environment, this.runMs);
      this.ran.set(row, environment.monotonic());
    },
    { timeoutMs: 3_600_000 },
  );

  async open(concurrency?: number): Promise<this> {
    const observers = [this.observer];
    this.db = await openTest({ store, environment, observers, queueLimit: 20_000 });
    this.db.pool.work({ concurrency });
    await environment.advance(1_000);
    return this;
  }

  /** Lets its runs begin but not end, from now on. The process stays alive. */
  hold(): void {
    this.#held ??= [];
  }

  async letGo(): Promise<void> {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const goOn of held) goOn();
    await environment.settle();
  }
}

let environment: TestEnvironment;
let store: RowStore;
let writer: TestDatabase;
let other: TestPeer;
let stuck: TestPeer;
/** The rows in the share of `other`, and those in the share of `stuck`. */
let ofOther: string[];
let ofStuck: string[];
const busyRunMs = 800;
let changes = 0;
let own = 0;

/** Opens two processes that share the work, and finds out which rows are in whose share. */
async function start({ rows = 400, runsOfStuck = 1, runsOfOther = 64 } = {}): Promise<void> {
  environment = new TestEnvironment();
  store = memoryStore({ environment });
  writer = await openTest({ store, environment, tables: [documents] });
  other = await new TestPeer().open(runsOfOther);
  stuck = await new TestPeer().open(runsOfStuck);
  await environment.advance(3_000);
  await change(Array.from({ length: rows }, (_, index) => `row ${index}`));
  await environment.advance(1_500);
  [ofOther, ofStuck] = [[...other.ran.keys()], [...stuck.ran.keys()]];
  expect(ofOther.length + ofStuck.length).toBe(rows);
  expect(Math.min(ofOther.length, ofStuck.length)).toBeGreaterThan(rows / 4);
  for (const { ran } of [other, stuck]) ran.clear();
}

async function change(rows: readonly string[]): Promise<void> {
  for (let first = 0; first < rows.length; first += 500) {
    await writer.transact((tx) => {
      for (const row of rows.slice(first, first + 500)) tx.set(documents.contents, row, `${++changes}`);
    });
  }
}

/** Holds the runs of these rows. All later runs of their process then wait, too. */
async function holdUp(rows: readonly string[]): Promise<void> {
  stuck.hold();
  await change(rows);
  await environment.advance(1_500);
}

/**
 * Keeps the other process busy: at any time some changes of its own share wait. The process runs
 * one change at a time, for {@link busyRunMs} each.
 */
async function busyFor(ms: number, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  for (let passed = 0; passed < ms; passed += busyRunMs) {
    await change([ofOther[own++ % ofOther.length]!]);
    await meanwhile();
    await environment.advance(busyRunMs);
  }
}

async function close(): Promise<void> {
  other.runMs = 0;
  await stuck.letGo();
  for (const { db } of [other, stuck]) await environment.until(db.close());
  await environment.until(writer.close());
}

/** The rows that `other` has run although they are not in its share. */
const taken = () => [...other.ran.keys()].filter((row) => !ofOther.includes(row)).sort();

describe("changes that another process leaves", () => {
  test("are run by an idle process after 2 seconds, wherever they stand", async () => {
    await start();
    const [first, ...rest] = ofStuck.slice(0, 16);
    await holdUp([first!]);
    for (const [index, row] of rest.entries()) {
      await environment.advance(20 * index);
      await change([row]);
      await environment.advance(1_900);
      expect(taken()).not.toContain(row);
      // The process `other` sees the hint within 250 ms, and takes it on at the first look after 2
      // seconds.
      await environment.advance(650);
      expect(taken()).toContain(row);
    }
    await close();
  });

  test("count as new if they changed meanwhile", async () => {
    await start();
    const [first, changed, same] = ofStuck;
    await holdUp([first!]);
    await change([changed!, same!]);
    await environment.advance(1_500);
    await change([changed!]);
    await environment.advance(1_100);
    expect(taken()).toEqual([same]);
    await environment.advance(800);
    expect(taken()).toEqual([same]);
    await environment.advance(700);
    expect(taken()).toEqual([changed, same].sort());
    await close();
  });

  test("are run by a busy process after 200 seconds", async () => {
    await start({ runsOfOther: 1 });
    const [first, ...rest] = ofStuck.slice(0, 4);
    await holdUp([first!]);
    other.runMs = busyRunMs;
    await change(ofOther.slice(-8));
    await change(rest);
    await busyFor(199_000);
    expect(taken()).toEqual([]);
    await busyFor(20_000);
    expect(taken()).toEqual([...rest].sort());
    await close();
  });

  test("are run as fast next to one that is written again and again", async () => {
    await start();
    const [first, changing, late] = ofStuck;
    await holdUp([first!]);
    for (let second = 0; second < 60; second++) {
      await change([changing!]);
      await environment.advance(1_000);
    }
    expect(taken()).toEqual([]);
    await change([late!]);
    for (let second = 0; second < 3; second++) {
      await change([changing!]);
      await environment.advance(1_000);
    }
    expect(taken()).toEqual([late]);
    await close();
  });

  test("are run behind very many that another process is running", async () => {
    await start({ rows: 1_500, runsOfStuck: 600 });
    const [running, left] = [ofStuck.slice(0, 600), ofStuck.slice(600)];
    expect(left.length).toBeGreaterThan(20);
    await holdUp(running);
    await change(left);
    await environment.advance(10_000);
    expect(taken()).toEqual([...left].sort());
    await close();
  });
});
