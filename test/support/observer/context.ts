import { type Environment, systemEnvironment } from "../../../src/environment/index.js";
import { Emitter, type EventMap } from "../../../src/events/index.js";
import { type Cluster, type Observer, Registry, Sessions, WorkerPool } from "../../../src/observer/index.js";
import { counterOracle, type Oracle } from "../../../src/oracle/index.js";
import type { AnyTable } from "../../../src/schema/index.js";
import type { RowStore } from "../../../src/store/index.js";
import { memoryStore } from "../../../src/store/memory/index.js";
import {
  ActiveTransactions,
  BackgroundWork,
  type CommitHooks,
  KnownLoads,
  LockResolver,
  noHooks,
  RowTurns,
  Safepoint,
  type Transaction,
  type TransactionContext,
  transact,
  Yielding,
} from "../../../src/transaction/index.js";

export interface TestOptions {
  readonly store?: RowStore;
  readonly environment?: Environment;
  readonly commit?: "one-phase" | "two-phase";
  readonly oracle?: Oracle;
  readonly observers?: readonly Observer[];
  readonly tables?: readonly AnyTable[];
  readonly queueLimit?: number;
  readonly cacheMs?: number;
  readonly hooks?: CommitHooks;
  readonly cluster?: Cluster | undefined;
}

/** The parts of a database that the tests of the observer room open. */
export interface TestDatabase {
  readonly store: RowStore;
  readonly context: TransactionContext;
  readonly registry: Registry;
  readonly sessions: Sessions;
  readonly pool: WorkerPool;
  readonly runs: EventMap["run"][];
  readonly failures: EventMap["backgroundFailure"][];
  transact<T>(run: (tx: Transaction) => T | Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openTest(options: TestOptions = {}): Promise<TestDatabase> {
  const environment = options.environment ?? systemEnvironment;
  const store = options.store ?? memoryStore({ environment });
  const registry = new Registry({ store, environment, cacheMs: options.cacheMs });
  const sessions = new Sessions({ store, environment, cluster: options.cluster });
  const context: TransactionContext = {
    store,
    oracle: options.oracle ?? counterOracle(store.atomic!),
    environment,
    events: new Emitter(),
    settings: {
      commit: options.commit ?? "one-phase",
      transactionBytes: 64 * 1024 * 1024,
      lockTtlMs: 1_000,
      retentionMs: 3_600_000,
    },
    schemas: registry,
    notifications: registry,
    liveness: sessions,
    safepoint: new Safepoint(store, environment, 0),
    active: new ActiveTransactions(environment),
    loads: new KnownLoads(),
    resolver: new LockResolver(),
    turns: new RowTurns(environment),
    hooks: options.hooks ?? noHooks,
    background: new BackgroundWork(),
    yielding: new Yielding(environment),
  };
  registry.attach(context);
  sessions.attach(context);
  const observers = options.observers ?? [];
  await registry.register(options.tables ?? [], observers);
  const pool = new WorkerPool({ registry, sessions, observers, queueLimit: options.queueLimit });
  const runs: EventMap["run"][] = [];
  const failures: EventMap["backgroundFailure"][] = [];
  context.events.on("run", (run) => runs.push(run));
  context.events.on("backgroundFailure", (failure) => failures.push(failure));
  return {
    store,
    context,
    registry,
    sessions,
    pool,
    runs,
    failures,
    transact: (run) => transact(context, run),
    async close() {
      await pool.close();
      await context.background.settled();
      await sessions.close();
    },
  };
}

/** Counts the hints in a store, by observer. */
export async function countHints(store: RowStore): Promise<Record<string, number>> {
  const { readHints } = await import("../../../src/observer/hint/hint.js");
  const counts: Record<string, number> = {};
  const page = await readHints(store, { start: undefined, end: undefined }, 1_000);
  for (const { observer } of page.hints) counts[observer] = (counts[observer] ?? 0) + 1;
  return counts;
}
