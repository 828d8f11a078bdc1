import { systemEnvironment } from "../../src/environment/index.js";
import { Emitter } from "../../src/events/index.js";
import { counterOracle } from "../../src/oracle/index.js";
import type { RowStore } from "../../src/store/index.js";
import {
  ActiveTransactions,
  BackgroundWork,
  type CommitHooks,
  KnownLoads,
  LockResolver,
  noHooks,
  type ObservedColumns,
  RowTurns,
  Safepoint,
  showRow,
  systemTable,
  type TransactionContext,
  type TransactionSettings,
  Yielding,
} from "../../src/transaction/index.js";

const nobody: ObservedColumns = {
  guards: { table: systemTable, row: Buffer.from("registry"), guards: [], mutations: [] },
  observed: () => false,
  hints: () => [],
  observersOf: () => [],
};

/** Returns a transaction context over a store, without observers and without a catalog. */
export function bareContext(
  store: RowStore,
  settings: Partial<TransactionSettings> = {},
  hooks: CommitHooks = noHooks,
): TransactionContext {
  const environment = systemEnvironment;
  return {
    store,
    oracle: counterOracle(store.atomic!),
    environment,
    events: new Emitter(),
    settings: {
      commit: "one-phase",
      transactionBytes: 64 * 1024 * 1024,
      lockTtlMs: 1_000,
      retentionMs: 3_600_000,
      ...settings,
    },
    schemas: {
      known: () => true,
      record: async () => {},
      showRow: (_, row) => showRow(row),
      keptWith: () => undefined,
      epoch: 0,
    },
    notifications: {
      current: () => nobody,
      fresh: () => nobody,
      refresh: () => {},
      reload: () => nobody,
      committed: () => {},
    },
    liveness: { session: "test", alive: () => undefined },
    safepoint: new Safepoint(store, environment, 0),
    active: new ActiveTransactions(environment),
    loads: new KnownLoads(),
    resolver: new LockResolver(),
    turns: new RowTurns(environment),
    hooks,
    background: new BackgroundWork(),
    yielding: new Yielding(environment),
  };
}
