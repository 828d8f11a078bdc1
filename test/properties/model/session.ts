import type { Database, Isolation, Transaction } from "percolatordb";
import { openWithHooks } from "percolatordb/testing";
import { SteppedEnvironment } from "../support/environment.js";
import { type Stand, StepWatch, type StoreKind, standOf } from "../support/stores.js";
import { Model } from "./model.js";
import { ModelObservers, modelObservers, type Run } from "./observers.js";
import { ModelTransaction } from "./perform.js";
import { derived, docs, pairs } from "./tables.js";

/** The real database, across closing and reopening. */
export class Session {
  readonly environment: SteppedEnvironment;
  readonly watch = new StepWatch();
  readonly runs: Run[] = [];
  readonly slots = new Map<number, Transaction>();
  readonly #stand: Stand;
  /** Whether the store has its own counter. Otherwise the oracle gives each timestamp. */
  hasCounter = true;
  #database: Database | undefined;

  private constructor(environment: SteppedEnvironment, stand: Stand) {
    this.environment = environment;
    this.#stand = stand;
  }

  static async start(kind: StoreKind): Promise<Session> {
    const environment = new SteppedEnvironment();
    const session = new Session(environment, await standOf(kind, environment));
    await session.open();
    return session;
  }

  get db(): Database {
    if (this.#database === undefined) throw new Error("The database is not open");
    return this.#database;
  }

  async open(): Promise<void> {
    const { store, options } = await this.#stand.open();
    this.hasCounter = store.atomic !== undefined;
    this.#database = await openWithHooks(store, {
      ...options,
      tables: [docs, pairs, derived],
      observers: modelObservers((run) => this.runs.push(run)),
      hooks: this.watch,
    });
  }

  async reopen(): Promise<void> {
    await this.db.close();
    this.slots.clear();
    await this.open();
  }

  async end(): Promise<void> {
    await this.#database?.close();
    await this.#stand.remove();
  }
}

/** The expected state of the database. */
export class ModelSession {
  readonly model = new Model();
  readonly observers = new ModelObservers(this.model);
  readonly slots = new Map<number, ModelTransaction>();
  nowMs = new SteppedEnvironment().now();

  begin(start: number, isolation: Isolation): ModelTransaction {
    this.model.moments.push(start);
    return new ModelTransaction(start, isolation === "serializable");
  }

  /** Records that the transaction has committed at `commit`. */
  committed(tx: ModelTransaction, commit: number | undefined): void {
    if (commit === undefined) return;
    this.model.commit(tx.own, commit);
    for (const row of tx.signals) this.observers.notified.add(row);
  }
}
