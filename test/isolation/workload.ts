import {
  CommitOutcomeUnknownError,
  ConflictError,
  family,
  int,
  observer,
  type ScanOptions,
  type Snapshot,
  StoreError,
  type Transaction,
  table,
} from "percolatordb";
import type { HistoryRecorder, RecordedClient, RecordedDatabase } from "percolatordb/testing";
import type { Random } from "./random.js";

/**
 * The table of random transactions. Observers copy `value` into `copied`, and `copied` into
 * `total`.
 */
export const things = table("things", { value: int(), other: int(), copied: int(), parts: family(int()) });

export const copying = observer("copying", things.value, (tx, { row, value }) => {
  if (value === undefined) return tx.delete(things.copied, row);
  return tx.set(things.copied, row, value);
});

export const counting = observer(
  "counting",
  things.copied,
  async (tx, { row, value }) => {
    const known = await tx.get(things.parts.at("counted"), row);
    tx.set(things.parts.at("counted"), row, (known ?? 0) * 2 + (value ?? 0));
  },
  { isolation: "serializable" },
);

export interface WorkloadOptions {
  readonly clients: number;
  /** The number of transactions of each client. */
  readonly transactions: number;
  readonly rows: number;
  /** The percentage of serializable transactions. */
  readonly serializable?: number;
  /** All written values are larger than this. Default: 0. */
  readonly above?: number;
  /**
   * Resolves when a client was stopped for good and will not continue. Its transactions carry its
   * name.
   */
  readonly stopped?: (client: string) => Promise<void>;
}

/** Random transactions of many concurrent clients, by seed. Every written value is unique. */
export class Workload {
  readonly #recorder: HistoryRecorder;
  readonly #dbs: readonly RecordedDatabase[];
  readonly #random: Random;
  readonly #options: WorkloadOptions;
  readonly #rows: readonly string[];
  #written: number;

  /**
   * The clients take turns with the given databases. All of them are the same database, as several
   * processes open it.
   */
  constructor(
    recorder: HistoryRecorder,
    db: RecordedDatabase | readonly RecordedDatabase[],
    random: Random,
    options: WorkloadOptions,
  ) {
    this.#recorder = recorder;
    this.#dbs = "transact" in db ? [db] : db;
    this.#random = random;
    this.#options = options;
    this.#written = options.above ?? 0;
    this.#rows = Array.from({ length: options.rows }, (_, at) => `row${String(at).padStart(3, "0")}`);
  }

  /** Runs all clients to their end. Conflicts and unknown outcomes are expected. */
  async run(): Promise<void> {
    const clients = Array.from({ length: this.#options.clients }, async (_, at) => {
      const client = this.#recorder.client(`client ${at + 1}`);
      const running = this.#runClient(client, this.#dbs[at % this.#dbs.length]!);
      await (this.#options.stopped === undefined
        ? running
        : Promise.race([running, this.#options.stopped(client.name)]));
    });
    await Promise.all(clients);
  }

  async #runClient(client: RecordedClient, db: RecordedDatabase): Promise<void> {
    for (let done = 0; done < this.#options.transactions; done++) await this.#expectFailures(client, db);
  }

  async #expectFailures(client: RecordedClient, db: RecordedDatabase): Promise<void> {
    try {
      await this.#one(client, db);
    } catch (error) {
      if (error instanceof ConflictError || error instanceof CommitOutcomeUnknownError) return;
      // A commit whose request was lost, and that was therefore rolled back.
      if (error instanceof StoreError && error.retryable) return;
      throw error;
    }
  }

  async #one(client: RecordedClient, db: RecordedDatabase): Promise<void> {
    const random = this.#random;
    const label = client.name;
    const isolation = random.percent(this.#options.serializable ?? 30) ? "serializable" : "snapshot";
    if (random.percent(15)) {
      await using snapshot = await client.snapshot(db);
      await this.#readSome(snapshot, 1 + random.below(4));
    } else if (random.percent(60)) {
      await client.transact(db, (tx) => this.#steps(tx), {
        isolation,
        label,
        retries: random.below(4),
      });
    } else {
      const tx = await client.begin(db, { isolation, label });
      await this.#steps(tx);
      if (random.percent(30)) await tx.rollback();
      else await tx.commit();
    }
  }

  async #steps(tx: Transaction): Promise<void> {
    for (let steps = 1 + this.#random.below(5); steps > 0; steps--) {
      if (this.#random.percent(50)) await this.#readSome(tx, 1);
      else await this.#write(tx);
      await this.#pause();
    }
  }

  /** Sometimes lets other transactions run in between. */
  async #pause(): Promise<void> {
    if (this.#random.percent(40)) await new Promise(setImmediate);
  }

  async #write(tx: Transaction): Promise<void> {
    const row = this.#random.pick(this.#rows);
    const value = ++this.#written;
    switch (this.#random.below(8)) {
      case 0:
        tx.delete(things.value, row);
        break;
      case 1:
        await tx.deleteRow(things, row);
        break;
      case 2:
        tx.set(things.parts.at(`part${value % 5}`), row, value);
        break;
      case 3:
        tx.set(things.other, row, value);
        tx.set(things.value, this.#random.pick(this.#rows), value);
        break;
      default:
        tx.set(things.value, row, value);
    }
  }

  async #readSome(tx: Transaction | Snapshot, reads: number): Promise<void> {
    for (let done = 0; done < reads; done++) await this.#read(tx);
  }

  async #read(tx: Transaction | Snapshot): Promise<void> {
    const row = this.#random.pick(this.#rows);
    switch (this.#random.below(7)) {
      case 0:
        await tx.getMany(things.value, [row, this.#random.pick(this.#rows)]);
        break;
      case 1:
        await tx.row(things, row);
        break;
      case 2:
        await this.#iterate(
          tx.entries(things.parts, row, this.#random.percent(50) ? { start: "part2" } : {}),
        );
        break;
      case 3:
        await this.#iterate(tx.scan(things.value, this.#range()));
        break;
      case 4:
        await this.#iterate(
          this.#random.percent(50) ? tx.scan(things, this.#range()) : tx.scan(things.parts, this.#range()),
        );
        break;
      default:
        await tx.get(this.#random.percent(70) ? things.value : things.copied, row);
    }
  }

  #range(): ScanOptions<string> {
    const [one, two] = [this.#random.pick(this.#rows), this.#random.pick(this.#rows)].sort();
    const reverse = this.#random.percent(30);
    if (this.#random.percent(20)) return { start: one, reverse, limit: 1 + this.#random.below(4) };
    return this.#random.percent(10) ? { prefix: "row00", reverse } : { start: one, end: two, reverse };
  }

  /** Iterates to the end, or stops early. */
  async #iterate(items: AsyncIterable<unknown>): Promise<void> {
    let left = this.#random.percent(25) ? this.#random.below(3) : Number.POSITIVE_INFINITY;
    for await (const _ of items) if (left-- <= 0) break;
  }
}
