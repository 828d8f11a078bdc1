import type { Database, SnapshotOptions } from "../../../database/index.js";
import type { Change, Observer } from "../../../observer/index.js";
import type {
  Snapshot,
  Transaction,
  TransactionOptions,
  TransactOptions,
} from "../../../transaction/index.js";
import { type CellColumn, cellName, encodedValue } from "../encoded.js";
import type { AuditedVersion, CellName, History, HistoryAudit } from "../history.js";
import { recordSnapshot, recordTransaction } from "./recorded-view.js";
import { LogicalClock, Recording, type RecordingDetails } from "./recording.js";

/** What a recorded client needs of a database: a `Database`, or a substitute with these methods. */
export type RecordedDatabase = Pick<Database, "transact" | "begin" | "snapshot">;

/** A client whose transactions are recorded. They work as usual. */
export interface RecordedClient {
  readonly name: string;
  /** Like `db.transact`. Each attempt is recorded as a separate transaction. */
  transact<T>(
    db: RecordedDatabase,
    run: (tx: Transaction) => T | Promise<T>,
    options?: TransactOptions,
  ): Promise<T>;
  /** Like `db.begin`. */
  begin(db: RecordedDatabase, options?: TransactionOptions): Promise<Transaction>;
  /** Like `db.snapshot`. */
  snapshot(db: RecordedDatabase, options?: SnapshotOptions): Promise<Snapshot>;
}

/** The options of {@link HistoryRecorder}. Each has a default. */
export interface HistoryRecorderOptions {
  /**
   * Returns the current moment. If recorders in several processes of one machine share a monotonic
   * clock, their records can be joined into one history. Default: each recorder has its own count.
   */
  readonly moment?: (() => number) | undefined;
}

interface WrittenCell {
  readonly name: CellName;
  readonly column: CellColumn;
  readonly row: unknown;
}

/**
 * Records what clients and observers do and which answers they get, for {@link checkHistory}. One
 * recorder must record all writers of the database, and all of them must declare the same columns.
 * Codecs must decode the value that they encoded.
 * Callers must await a `deleteRow` before other writes of its row.
 *
 * @example
 * const recorder = new HistoryRecorder();
 * const alice = recorder.client("alice");
 * await alice.transact(db, async (tx) => tx.set(counters.hits, "a", ((await tx.get(counters.hits, "a")) ?? 0) + 1));
 * await recorder.audit(db);
 * expect(checkHistory(recorder.history()).anomalies).toEqual([]);
 */
export class HistoryRecorder {
  readonly #clock: LogicalClock;
  readonly #recordings: Recording[] = [];
  readonly #written = new Map<string, WrittenCell>();
  #audit: HistoryAudit | undefined;

  constructor(options: HistoryRecorderOptions = {}) {
    this.#clock = new LogicalClock(options.moment);
  }

  /**
   * Returns a client. Its transactions are one session: each must see what the earlier ones saw.
   */
  client(name: string): RecordedClient {
    return {
      name,
      transact: (db, run, options) => this.#transact(name, db, run, options),
      begin: (db, options) => this.#begin(name, db, options),
      snapshot: (db, options) => this.#snapshot(name, db, options),
    };
  }

  /** Returns an observer whose runs are recorded. Give it to `open` in place of the original. */
  observer(observer: Observer): Observer {
    const run = (tx: Transaction, given: Change | readonly Change[]) => this.#observe(observer, tx, given);
    return Object.freeze({ ...observer, run });
  }

  /**
   * Reads which versions of all recorded cells the store holds, so that the check infers no
   * outcome. Call it when no client runs any more.
   */
  async audit(db: Pick<Database, "snapshot" | "history" | "status">): Promise<void> {
    await using snapshot = await db.snapshot();
    const cells: HistoryAudit["cells"][number][] = [];
    for (const { name, column, row } of this.#written.values()) {
      // Resolves locks that a client left. If the client's transaction had committed, this rolls
      // its write forward.
      await snapshot.get(column, row);
      const versions = (await db.history(column, row)).map(
        ({ commitTimestamp, startTimestamp, value }): AuditedVersion => ({
          commitTimestamp,
          startTimestamp,
          value: value === undefined ? undefined : encodedValue(column.codec, value),
        }),
      );
      cells.push({ cell: name, versions });
    }
    this.#audit = { safepoint: (await db.status()).safepoint, cells };
  }

  /**
   * Returns what was recorded so far. A transaction that asked to commit and got no answer has an
   * unknown outcome.
   */
  history(): History {
    const transactions = this.#recordings.map((recording) => recording.transaction());
    return { transactions, audit: this.#audit };
  }

  #record(details: Omit<RecordingDetails, "id">): Recording {
    const recording = new Recording(this.#clock, { id: this.#recordings.length + 1, ...details });
    this.#recordings.push(recording);
    return recording;
  }

  #wrap(tx: Transaction, recording: Recording): Transaction {
    return recordTransaction(tx, recording, (name, column, row) => {
      const key = JSON.stringify([name.table, name.column, name.row]);
      if (!this.#written.has(key)) this.#written.set(key, { name, column, row });
    });
  }

  async #transact<T>(
    client: string,
    db: RecordedDatabase,
    run: (tx: Transaction) => T | Promise<T>,
    options: TransactOptions = {},
  ): Promise<T> {
    const { label, isolation = "snapshot" } = options;
    const details = { client, label, kind: "transaction", isolation } as const;
    let begun = this.#clock.tick();
    let attempt: { readonly recording: Recording; readonly tx: Transaction } | undefined;
    try {
      const result = await db.transact(async (tx) => {
        // A new attempt shows that the one before it conflicted.
        attempt?.recording.failed({ code: "CONFLICT" });
        const recording = this.#record({ ...details, startTimestamp: tx.startTimestamp, begun });
        attempt = { recording, tx };
        try {
          return await run(this.#wrap(tx, recording));
        } catch (error) {
          recording.failed(error);
          throw error;
        } finally {
          recording.committing();
          begun = this.#clock.tick();
        }
      }, options);
      attempt?.recording.committed(attempt.tx.commitTimestamp);
      return result;
    } catch (error) {
      attempt?.recording.failed(error);
      throw error;
    }
  }

  async #begin(client: string, db: RecordedDatabase, options: TransactionOptions = {}): Promise<Transaction> {
    const begun = this.#clock.tick();
    const tx = await db.begin(options);
    const { label, isolation = "snapshot" } = options;
    const { startTimestamp } = tx;
    return this.#wrap(
      tx,
      this.#record({ client, label, kind: "transaction", isolation, startTimestamp, begun }),
    );
  }

  async #snapshot(client: string, db: RecordedDatabase, options: SnapshotOptions = {}): Promise<Snapshot> {
    const now = this.#clock.tick();
    const snapshot = await db.snapshot(options);
    const recording = this.#record({
      client,
      kind: "snapshot",
      isolation: "snapshot",
      startTimestamp: snapshot.timestamp,
      begun: options.at === undefined ? now : undefined,
    });
    recording.committed(undefined);
    return recordSnapshot(snapshot, recording);
  }

  async #observe(observer: Observer, tx: Transaction, given: Change | readonly Change[]): Promise<unknown> {
    const recording = this.#record({
      client: `observer ${observer.name}`,
      kind: "observer",
      isolation: observer.isolation,
      startTimestamp: tx.startTimestamp,
      begun: undefined,
    });
    tx.onCommit(() => recording.committed(tx.commitTimestamp));
    // A run that observers share gets no value.
    if (observer.group === undefined) {
      for (const change of [given].flat()) this.#recordChange(recording, change);
    }
    try {
      return await observer.run(this.#wrap(tx, recording), given as Change);
    } catch (error) {
      recording.failed(error);
      throw error;
    } finally {
      recording.committing();
    }
  }

  /** Records the value that a run receives. It counts as a read of the run's transaction. */
  #recordChange(recording: Recording, { column, row, value }: Change): void {
    if (column.kind === "signal") return;
    recording.add({
      type: "read",
      cell: cellName(column, row),
      value: value === undefined ? undefined : encodedValue(column.codec, value),
      invoked: this.#clock.tick(),
      completed: this.#clock.tick(),
    });
  }
}
