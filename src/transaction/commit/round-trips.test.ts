import { afterEach, describe, expect, test } from "vitest";
import { type Database, open } from "../../database/index.js";
import { type Environment, sleep } from "../../environment/index.js";
import { ConflictError } from "../../errors/index.js";
import { type Observer, observer } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import { int, table } from "../../schema/index.js";
import type { RowMutation } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { TestClock } from "../../testing/index.js";
import { DistantStore, type Request } from "../../testing/world/index.js";
import { hintTable } from "../index.js";

const tripMs = 10;
const accounts = table("accounts", { balance: int() });

/** The numbers of the mutations of each step, by the round trip of the transaction that sends them. */
type Trips = Record<number, Record<string, number>>;

/** A store, and its oracle, to which every request takes one round trip. It is performed halfway. */
class TripStore extends DistantStore {
  readonly #environment: Environment;
  #startedAt = 0;
  #last = 0;
  trips: Trips = {};
  /** The most prewrites that were under way at a time. */
  mostPrewrites = 0;
  #prewrites = 0;

  constructor(environment: Environment) {
    const store = memoryStore({ atomicBatches: false, bulkMutations: true, environment });
    const trip = () => this.#halfTrip();
    super({
      store,
      network: {
        async send<T>({ apply }: Request<T>): Promise<T> {
          await trip();
          const answer = await apply();
          await trip();
          return answer;
        },
      },
    });
    this.#environment = environment;
  }

  readonly oracle: Oracle = {
    next: async () => {
      await this.#halfTrip();
      this.#last = Math.max(this.#last + 1, Math.floor(this.#environment.now() * 1_000));
      await this.#halfTrip();
      return this.#last;
    },
    latest: () => this.#last,
  };

  /** Counts from now on. */
  restart(): void {
    this.#startedAt = this.#environment.monotonic();
    this.trips = {};
  }

  override async mutate(mutation: RowMutation): ReturnType<DistantStore["mutate"]> {
    const step = stepOf(mutation);
    if (step === undefined) return super.mutate(mutation);
    this.#count(step);
    if (step !== "prewrite") return super.mutate(mutation);
    this.mostPrewrites = Math.max(this.mostPrewrites, ++this.#prewrites);
    return super.mutate(mutation).finally(() => this.#prewrites--);
  }

  #halfTrip(): Promise<void> {
    return sleep(this.#environment, tripMs / 2);
  }

  #count(step: string): void {
    const trip = 1 + (this.#environment.monotonic() - this.#startedAt) / tripMs;
    this.trips[trip] ??= {};
    this.trips[trip][step] = (this.trips[trip][step] ?? 0) + 1;
  }
}

function stepOf({ table, guards }: RowMutation): string | undefined {
  if (table === hintTable) return "hint";
  if (table !== "accounts") return undefined;
  if (guards.length === 0) return "secondary";
  return guards[0]!.type === "absent" ? "prewrite" : "primary";
}

describe("round trips to a distant store", () => {
  const clock = new TestClock();
  let db: Database | undefined;
  let store: TripStore;

  afterEach(async () => {
    if (db !== undefined) await clock.until(db.close());
    db = undefined;
  });

  async function begin(observers: readonly Observer[]): Promise<Database> {
    const environment = clock.process();
    store = new TripStore(environment);
    const opening = open(store, {
      tables: [accounts],
      observers,
      oracle: store.oracle,
      environment,
      collectEveryMs: 0,
    });
    db = await clock.until(opening);
    return db;
  }

  /** Runs a transaction that writes so many rows. Returns its round trips until it is acknowledged. */
  async function write(db: Database, rows: number): Promise<number> {
    const before = clock.passedMs;
    store.restart();
    const writing = db.transact((tx) => {
      for (let row = 0; row < rows; row++) tx.set(accounts.balance, `row ${row}`, row);
    });
    await clock.until(writing);
    const trips = (clock.passedMs - before) / tripMs;
    // The secondaries are sent when the caller has its answer.
    await clock.advance(tripMs);
    return trips;
  }

  /** How long the process did nothing: less than the second for which it keeps what it read, or more. */
  const pauses = [100, 60_000];

  test.each(pauses)("a transaction of ten rows takes four, after a pause of %i ms", async (pauseMs) => {
    const db = await begin([]);
    await write(db, 1);
    await clock.advance(pauseMs);
    // The first and the third are for timestamps.
    expect(await write(db, 10)).toBe(4);
    expect(store.trips).toEqual({
      2: { prewrite: 10 },
      4: { primary: 1 },
      5: { secondary: 9 },
    });
  });

  test.each(pauses)("hints for observers take a fifth, after a pause of %i ms", async (pauseMs) => {
    const db = await begin([observer("watch", accounts.balance, async () => {})]);
    await write(db, 1);
    await clock.advance(pauseMs);
    expect(await write(db, 10)).toBe(5);
    expect(store.trips).toEqual({
      2: { prewrite: 10 },
      4: { hint: 10 },
      5: { primary: 1 },
      6: { secondary: 9 },
    });
  });

  test("a transaction of many rows has at most 256 prewrites under way", async () => {
    const db = await begin([]);
    expect(await write(db, 1_000)).toBe(3 + Math.ceil(1_000 / 256));
    expect(store.mostPrewrites).toBe(256);
  });

  test("a transaction of many rows stops after a conflict, and leaves no lock", async () => {
    const db = await begin([]);
    await write(db, 1);
    const late = await clock.until(db.begin());
    await write(db, 1);
    store.restart();
    for (let row = 0; row < 2_000; row++) late.set(accounts.balance, `row ${row}`, -1);
    await expect(clock.until(late.commit())).rejects.toThrow(ConflictError);
    await clock.advance(1_000);
    // It needs two more round trips to learn why the store refused one.
    const prewrites = Object.values(store.trips).reduce((sum, { prewrite = 0 }) => sum + prewrite, 0);
    expect(prewrites).toBeLessThan(3 * 256);
    await using view = await clock.until(db.snapshot());
    expect(await clock.until(view.get(accounts.balance, "row 0"))).toBe(0);
    expect(await clock.until(view.get(accounts.balance, "row 1"))).toBeUndefined();
    expect(await clock.until(db.check())).toEqual([]);
  });
});
