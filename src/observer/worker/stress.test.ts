import { describe, expect, test } from "vitest";
import { countHints, openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { StoreError } from "../../errors/index.js";
import { definition, int, signal, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { type CommitHooks, check, collect } from "../../transaction/index.js";
import { observer, parkedTable, type Worker } from "../index.js";

const source = table("source", { value: int(), poke: signal() });
const derived = table("derived", { copy: int(), twice: int(), pokes: int(), note: text() });
const totals = table("totals", { sum: int(), runs: int() });

const copy = observer("copy", source.value, (tx, { row, value }) => {
  if (value === undefined) tx.delete(derived.copy, row);
  else tx.set(derived.copy, row, value);
});
const twice = observer("twice", derived.copy, (tx, { row, value }) => {
  if (value === undefined) tx.delete(derived.twice, row);
  else tx.set(derived.twice, row, value * 2);
});
// The sum is right only if each change counts once and `previous` is the value counted before.
const sum = observer(
  "sum",
  source.value,
  async (tx, { row, value = 0, previous = 0 }) => {
    const total = `total ${row.length % 2}`;
    tx.set(totals.sum, total, ((await tx.get(totals.sum, total)) ?? 0) + value - previous);
  },
  { attempts: 1_000, backoff: { initialMs: 1, maximumMs: 3 } },
);
const poked = observer("poked", source.poke, async (tx, { row }) => {
  tx.set(derived.pokes, row, ((await tx.get(derived.pokes, row)) ?? 0) + 1);
});
const observers = [copy, twice, sum, poked];

/** A generator of pseudo-random numbers from a seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Makes steps slow, and some of them fail, before or after they take effect. */
function faults(run: Run): CommitHooks {
  const { random } = run;
  return {
    async step(name, _info, step) {
      for (let ticks = random(3); ticks > 0; ticks--) await tick();
      const isFaulty =
        !run.quiet && (name === "commit-secondary" || name === "roll-forward" || name === "hints");
      if (isFaulty && random(12) === 0) throw new StoreError(`fault before ${name}`);
      const answer = await step();
      for (let ticks = random(2); ticks > 0; ticks--) await tick();
      return answer;
    },
  };
}

interface Run {
  readonly random: (below: number) => number;
  readonly databases: TestDatabase[];
  /** True at the end: no more faults, and nothing new begins. */
  quiet: boolean;
}

/** Starts and stops workers, and runs garbage collection up to its safepoint. */
async function disturb(run: Run, db: TestDatabase): Promise<void> {
  const { random, databases } = run;
  while (!run.quiet) {
    const worker: Worker = db.pool.work({
      observers: observers.filter(() => random(3) > 0),
      concurrency: 1 + random(8),
    });
    for (let ticks = random(60); ticks > 0; ticks--) await tick();
    await worker.stop(random(2) === 0 ? { timeoutMs: 1 } : {});
    if (random(4) > 0) continue;
    const tables = [source, derived, totals].map((each) => each[definition].name);
    const oldest = Math.min(...databases.map((each) => each.context.active.oldest()));
    await collect(db.context, [...tables, parkedTable], oldest, { retentionMs: 0 }).catch(ignoreFault);
  }
}

function ignoreFault(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

async function write({ random }: Run, db: TestDatabase): Promise<number> {
  let committed = 0;
  for (let index = 0; index < 120; index++) {
    const row = "x".repeat(1 + random(10));
    const value = random(5) === 0 ? undefined : random(1_000);
    try {
      await db.transact((tx) => {
        if (value === undefined) tx.delete(source.value, row);
        else tx.set(source.value, row, value);
        if (random(4) === 0) tx.notify(source.poke, row);
      });
      committed++;
    } catch (error) {
      ignoreFault(error);
    }
    if (random(3) === 0) await tick();
  }
  return committed;
}

describe("observers under disturbance", () => {
  const modes = [
    ["one-phase", "one-phase"],
    ["two-phase", "two-phase"],
    ["one-phase", "two-phase"],
  ] as const;
  const cases = modes.flatMap((mode) => [1, 2].map((seed) => ({ name: mode.join(" and "), mode, seed })));

  test.each(cases)("$name: no change is lost or handled twice (seed $seed)", async ({ mode, seed }) => {
    const run: Run = { random: numbers(seed * 7_919), databases: [], quiet: false };
    const { databases } = run;
    const store = memoryStore();
    for (const commit of mode) {
      databases.push(await openTest({ store, commit, observers, queueLimit: 8, hooks: faults(run) }));
    }
    const disturbing = databases.map((db) => disturb(run, db));
    const committed = await Promise.all(databases.map((db) => write(run, db)));
    run.quiet = true;
    await Promise.all(disturbing);
    for (const count of committed) expect(count).toBeGreaterThan(50);
    await Promise.all(databases.map((db) => db.pool.drain()));
    for (const db of databases) await db.context.background.settled();
    const db = databases[0]!;
    expect(await countHints(store)).toEqual({});
    const sums = new Map<string, number>();
    await db.transact(async (tx) => {
      for (let length = 1; length <= 10; length++) {
        const row = "x".repeat(length);
        const value = await tx.get(source.value, row);
        expect(await tx.get(derived.copy, row)).toBe(value);
        expect(await tx.get(derived.twice, row)).toBe(value === undefined ? undefined : value * 2);
        const total = `total ${length % 2}`;
        sums.set(total, (sums.get(total) ?? 0) + (value ?? 0));
      }
      for (const [total, expected] of sums) expect(await tx.get(totals.sum, total)).toBe(expected);
    });
    const tables = [source, derived, totals].map((each) => each[definition].name);
    expect(await check(db.context, [...tables, parkedTable])).toEqual([]);
    for (const each of databases) await each.close();
  });
});
