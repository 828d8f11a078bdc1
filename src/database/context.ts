import type { Environment } from "../environment/index.js";
import { InvalidArgumentError } from "../errors/index.js";
import { Emitter } from "../events/index.js";
import type { Registry } from "../observer/index.js";
import { counterOracle, type Oracle } from "../oracle/index.js";
import type { RowStore } from "../store/index.js";
import {
  ActiveTransactions,
  BackgroundWork,
  countRequests,
  countTimestamps,
  joinMutations,
  KnownLoads,
  type Liveness,
  LockResolver,
  noHooks,
  RowTurns,
  Safepoint,
  type TransactionContext,
  Yielding,
} from "../transaction/index.js";
import type { OpenWithHooksOptions, Settings } from "./options.js";

/**
 * Builds what transactions need: the store, the oracle, the safepoint and the settings. `open`
 * calls it once.
 */
export function buildContext(
  given: RowStore,
  environment: Environment,
  registry: Registry,
  liveness: Liveness,
  options: OpenWithHooksOptions,
  settings: Settings,
): TransactionContext {
  const events = new Emitter();
  const store = joinMutations(countRequests(given, events), events);
  const onePhase = store.atomic !== undefined && options.commit !== "two-phase";
  return {
    store,
    oracle: chooseOracle(store, options.oracle, events),
    environment,
    events,
    settings: {
      commit: onePhase ? "one-phase" : "two-phase",
      transactionBytes: settings.transactionBytes,
      lockTtlMs: settings.lockTtlMs,
      retentionMs: settings.retentionMs,
    },
    schemas: registry,
    notifications: registry,
    liveness,
    safepoint: new Safepoint(store, environment, options.cacheMs ?? 1_000),
    active: new ActiveTransactions(environment),
    loads: new KnownLoads(),
    resolver: new LockResolver(),
    turns: new RowTurns(environment),
    hooks: options.hooks ?? noHooks,
    background: new BackgroundWork(),
    yielding: new Yielding(environment),
  };
}

function chooseOracle(store: RowStore, given: Oracle | undefined, events: Emitter): Oracle {
  if (store.atomic !== undefined) {
    if (given === undefined) return counterOracle(store.atomic);
    throw new InvalidArgumentError(
      `${store.description} assigns timestamps itself. Leave out \`oracle\`: two sources of timestamps would contradict each other.`,
    );
  }
  if (given !== undefined) return countTimestamps(given, events);
  throw new InvalidArgumentError(
    `${store.description} does not assign timestamps itself. Open it with the cluster's \`coordinator\`, or with an \`oracle\` that all ` +
      "its processes share.",
  );
}
