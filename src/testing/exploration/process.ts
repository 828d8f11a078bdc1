import { buildContext, Database } from "../../database/index.js";
import type { Observer, RegistryView } from "../../observer/index.js";
import { Registry, Sessions, type Worker, WorkerPool } from "../../observer/index.js";
import type { Oracle } from "../../oracle/index.js";
import type { AnyTable } from "../../schema/index.js";
import { definition } from "../../schema/index.js";
import type { RowStore } from "../../store/index.js";
import type { CommitHooks, TransactionContext } from "../../transaction/index.js";
import { noHooks } from "../../transaction/index.js";
import type { ClientEnvironment } from "./client-environment.js";
import { hasHints } from "./has-hints.js";
import { LoneSessions } from "./lone-sessions.js";
import { WorkerEnvironment } from "./worker-environment.js";

export interface ProcessOptions {
  readonly name: string;
  /** The process's connection to the store. */
  readonly store: RowStore;
  readonly oracle: Oracle;
  readonly environment: ClientEnvironment;
  readonly commit: "one-phase" | "two-phase";
  readonly observers: readonly Observer[];
  /** Whether the owner of a lock is alive, as far as this process can tell. */
  readonly alive: (session: string) => boolean | Promise<boolean>;
  readonly read?: CommitHooks["read"] | undefined;
  /** Whether the process sends heartbeats and sees those of other processes. Default: false. */
  readonly hasSessions?: boolean | undefined;
  /** What the process knows of the registry from the beginning. */
  readonly view: RegistryView | undefined;
}

/** The options of {@link ExploredProcess.work}. Each has a default. */
export interface LookOptions {
  /** Observers that the worker runs. Default: those of the process. */
  readonly observers?: readonly Observer[] | undefined;
  /** How many times the worker scans the hints. Default: 1. */
  readonly looks?: number | undefined;
  /**
   * Awaited before each scan. If it resolves to false, there is nothing left to scan. Default: the
   * worker scans at once.
   */
  readonly untilDue?: (() => Promise<boolean>) | undefined;
}

/**
 * A process of an exploration: a database with everything beneath it, created without a request to
 * the store.
 */
export class ExploredProcess {
  readonly db: Database;
  readonly context: TransactionContext;
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly #environment: ClientEnvironment;
  readonly #observers: readonly Observer[];

  constructor(options: ProcessOptions) {
    const { store, environment, observers } = options;
    const settings = {
      retentionMs: 0,
      collectEveryMs: 0,
      expireEveryMs: 0,
      transactionBytes: 1 << 20,
      lockTtlMs: 5_000,
      readOnly: false,
    };
    this.#environment = environment;
    this.#observers = observers;
    this.registry = new Registry({ store, environment, view: options.view });
    this.sessions = new (options.hasSessions === true ? Sessions : LoneSessions)({ store, environment });
    const liveness = { session: options.name, alive: options.alive };
    const hooks: CommitHooks =
      options.read === undefined ? noHooks : { step: noHooks.step, read: options.read };
    const commit = options.commit === "two-phase" ? "two-phase" : "auto";
    const oracle = store.atomic === undefined ? options.oracle : undefined;
    const open = { commit, hooks, oracle } as const;
    this.context = buildContext(store, environment, this.registry, liveness, open, settings);
    this.registry.attach(this.context);
    this.sessions.attach(this.context);
    this.db = new Database({
      store,
      withSource: [],
      context: this.context,
      registry: this.registry,
      sessions: this.sessions,
      settings,
      observers,
    });
  }

  /** Records the tables in the registry in advance, so that no request for that becomes a step. */
  async learn(tables: readonly AnyTable[]): Promise<void> {
    await this.registry.record(tables.map((table) => table[definition]));
  }

  /** Whether there is a hint of one of its observers. */
  hasHints(): boolean {
    return hasHints(this.context.store, this.#observers);
  }

  /**
   * Scans the hints as a worker does, and runs the observers that are due, one run after the other.
   * A retry waits until the next scan. After the last scan, retries are dropped. Resolves to the
   * number of runs.
   */
  async work(options: LookOptions = {}): Promise<number> {
    const { observers = this.#observers, looks = 1, untilDue = async () => true } = options;
    const { registry, sessions } = this;
    const environment = new WorkerEnvironment(this.#environment);
    const pool = new WorkerPool({ registry, sessions, observers, environment });
    let worker: Worker | undefined;
    for (let look = 1; look <= looks && (await untilDue()); look++) {
      environment.passTime();
      worker ??= pool.work({ concurrency: 1 });
      await worker.scan();
      await pool.board.whenOnlyDelayed();
    }
    await pool.close();
    return pool.board.completed;
  }
}
