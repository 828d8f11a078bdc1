import { describe, expect, test } from "vitest";
import { openTest, type TestDatabase } from "../../../test/support/observer/context.js";
import { StoreError } from "../../errors/index.js";
import { observer, parkedTable } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import { definition, int, signal, table, text } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { type CommitHooks, collect } from "../../transaction/index.js";
import { SeededRandom, WatchedStore } from "../world/index.js";
import { ProtocolWatcher, type Violation } from "./index.js";

const source = table("source", { value: int(), note: text(), poke: signal() });
const derived = table("derived", { copy: int(), notes: int(), pokes: int() });

const copy = observer("copy", source.value, (tx, { row, value }) => {
  if (value === undefined) tx.delete(derived.copy, row);
  else tx.set(derived.copy, row, value);
});
const notes = observer("notes", source.note, async (tx, { row, value = "", previous = "" }) => {
  tx.set(derived.notes, row, ((await tx.get(derived.notes, row)) ?? 0) + value.length - previous.length);
});
const poked = observer("poked", source.poke, async (tx, { row }) => {
  tx.set(derived.pokes, row, ((await tx.get(derived.pokes, row)) ?? 0) + 1);
});
const observers = [copy, notes, poked];
const tables = [...[source, derived].map((each) => each[definition].name), parkedTable, "~system"];

const tick = () => new Promise((resolve) => setImmediate(resolve));

/** Several processes on one store, whose steps take time and sometimes fail. */
class Peers {
  readonly violations: Violation[] = [];
  readonly watcher: ProtocolWatcher;
  readonly databases: TestDatabase[] = [];
  readonly #random: SeededRandom;
  readonly #watched: WatchedStore;
  #quiet = false;
  #time = 1_000;

  constructor(seed: string, atomicBatches: boolean) {
    this.#random = new SeededRandom(seed);
    const store = memoryStore({ atomicBatches, inlineBytes: 8 });
    this.#watched = new WatchedStore(store);
    const onViolation = (violation: Violation) => this.violations.push(violation);
    // All observers are registered before the first change.
    this.watcher = new ProtocolWatcher({ store, onViolation, registryCacheMs: 0 });
    this.#watched.watch(this.watcher);
  }

  async open(commit: "one-phase" | "two-phase"): Promise<void> {
    const oracle = this.#oracle();
    const options = { store: this.#watched, commit, observers, hooks: this.#hooks() };
    this.databases.push(await openTest(oracle === undefined ? options : { ...options, oracle }));
  }

  #oracle(): Oracle | undefined {
    if (this.#watched.atomic !== undefined) return undefined;
    return {
      latest: () => this.#time,
      next: async () => {
        const asked = this.watcher.newestTimestamp;
        await tick();
        const answer = ++this.#time;
        this.watcher.timestamp(asked, answer);
        return answer;
      },
    };
  }

  #hooks(): CommitHooks {
    return {
      step: async (name, _info, step) => {
        for (let ticks = this.#random.below(3); ticks > 0; ticks--) await tick();
        const isFaulty = !this.#quiet && (name === "commit-secondary" || name === "hints");
        if (isFaulty && this.#random.below(12) === 0) throw new StoreError(`fault before ${name}`);
        return step();
      },
      read: ({ startTimestamp, cell, commit, value }) => {
        this.watcher.read({ ...cell, start: startTimestamp, commit, value });
      },
    };
  }

  async write(db: TestDatabase): Promise<void> {
    const random = this.#random;
    for (let index = 0; index < 60; index++) {
      const row = `row ${random.below(6)}`;
      await db
        .transact(async (tx) => {
          const value = ((await tx.get(source.value, row)) ?? 0) + 1;
          if (random.below(5) === 0) tx.delete(source.value, row);
          else tx.set(source.value, `row ${random.below(6)}`, value);
          if (random.below(3) === 0) tx.set(source.note, row, "n".repeat(random.below(20)));
          if (random.below(4) === 0) tx.notify(source.poke, row);
        })
        .catch((error: unknown) => {
          if (!(error instanceof StoreError)) throw error;
        });
    }
  }

  async disturb(db: TestDatabase): Promise<void> {
    while (!this.#quiet) {
      const worker = db.pool.work({ observers, concurrency: 1 + this.#random.below(4) });
      for (let ticks = this.#random.below(60); ticks > 0; ticks--) await tick();
      await worker.stop(this.#random.below(2) === 0 ? { timeoutMs: 1 } : {});
      if (this.#random.below(3) === 0) await this.collect(db);
    }
  }

  collect(db: TestDatabase) {
    const oldest = Math.min(...this.databases.map((each) => each.context.active.oldest()));
    return collect(db.context, tables, oldest, { retentionMs: 0 });
  }

  async run(): Promise<void> {
    const disturbing = this.databases.map((db) => this.disturb(db));
    await Promise.all(this.databases.map((db) => this.write(db)));
    this.#quiet = true;
    await Promise.all(disturbing);
    await Promise.all(this.databases.map((db) => db.pool.drain()));
    for (const db of this.databases) await db.context.background.settled();
    await this.#resolveAll();
  }

  /**
   * Resolves all locks. A collection resolves the locks below the newest timestamp, so this
   * requests a timestamp above all locks first.
   */
  async #resolveAll(): Promise<void> {
    const db = this.databases[0]!;
    await db.context.oracle.next();
    await this.collect(db);
    await this.collect(db);
  }
}

describe("processes on one store", () => {
  const modes = [
    { atomic: true, commits: ["one-phase", "one-phase"] },
    { atomic: true, commits: ["two-phase", "two-phase"] },
    { atomic: true, commits: ["one-phase", "two-phase"] },
    { atomic: false, commits: ["two-phase", "two-phase"] },
  ] as const;

  test.each(modes)("$commits violate nothing (atomic batches: $atomic)", async ({ atomic, commits }) => {
    for (const seed of ["1", "2"]) {
      const peers = new Peers(seed, atomic);
      for (const commit of commits) await peers.open(commit);
      await peers.run();
      expect(peers.violations).toEqual([]);
      expect(peers.watcher.atRest()).toEqual([]);
      for (const db of peers.databases) await db.close();
    }
  });
});
