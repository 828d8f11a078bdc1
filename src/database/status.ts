import { expiries, type TableExpiry } from "../evolution/index.js";
import type { LiveSession, Registry, Sessions, SilentSession } from "../observer/index.js";
import type { TransactionContext } from "../transaction/index.js";
import { type Coordination, type CoordinatorStatus, coordinatorStatus } from "./coordination/coordination.js";

/** The result of `db.status`. */
export interface DatabaseStatus {
  /** Kind and location of the store. */
  readonly store: string;
  /**
   * Counters of the store, such as bytes and entries. If a coordinator assigns timestamps, also the
   * requests for them.
   */
  readonly statistics: Readonly<Record<string, number>>;
  readonly commit: "one-phase" | "two-phase";
  readonly retentionMs: number;
  /**
   * The newest timestamp of the database. If a coordinator gives timestamps, the newest one that this
   * process has received, so that the status needs no coordinator: others may have received newer ones.
   */
  readonly latestTimestamp: number;
  /** Timestamp below which the database refuses snapshots. 0 before the first collection. */
  readonly safepoint: number;
  readonly safepointAgeMs: number | undefined;
  /** The processes that have workers, by session. */
  readonly sessions: ReadonlyMap<string, LiveSession>;
  /**
   * The sessions whose heartbeats ended without a clean end, in the last hour, as far as this
   * process has seen it. A process that is stopped or overloaded is among them until it goes on.
   */
  readonly silent: ReadonlyMap<string, SilentSession>;
  /** The tables whose cells expire (`ttlMs`), by name. */
  readonly expiries: readonly TableExpiry[];
  /** The cluster's coordinator. Undefined if there never was one. */
  readonly coordinator: CoordinatorStatus | undefined;
}

/** The state of a database, as its store, its sessions and its coordinator give it now. */
export async function statusOf(
  { store, safepoint, oracle, environment, settings }: TransactionContext,
  registry: Registry,
  sessions: Sessions,
  coordination: Coordination | undefined,
): Promise<DatabaseStatus> {
  const at = await safepoint.current();
  return {
    store: store.description,
    statistics: {
      ...(await store.statistics()),
      ...(oracle.requests === undefined ? {} : { timestampRequests: oracle.requests }),
    },
    commit: settings.commit,
    retentionMs: settings.retentionMs,
    latestTimestamp: await oracle.latest(),
    safepoint: at,
    safepointAgeMs: at === 0 ? undefined : Math.max(0, environment.now() - at / 1_000),
    sessions: await sessions.list(),
    silent: sessions.silent,
    expiries: await expiries(registry),
    coordinator: await (coordination?.status() ?? coordinatorStatus(store, environment)),
  };
}
