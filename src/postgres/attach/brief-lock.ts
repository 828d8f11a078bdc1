import { sleep, throwIfAborted } from "../../environment/index.js";
import { InvalidArgumentError, StoreError } from "../../errors/index.js";
import { describeValue } from "../../schema/index.js";
import { type Setting, statement } from "../../store/postgres/index.js";
import { stateOf } from "./changes/park.js";

/** What calls take that lock SQL tables for a moment. */
export interface LockOptions {
  /**
   * Milliseconds for which the lock is asked for again and again, while other transactions hold the
   * table. Default: 20,000.
   */
  readonly waitMs?: number | undefined;
  /** Aborting it gives up the wait. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Which locks of other transactions stand in the way. */
export type Blocking = "writers" | "readers and writers";

/** Writers wait behind the request for a lock, so it must not wait for long. */
const briefMs = 200;
const pauseMs = 200;
/** Autovacuum is not asked to give way if it takes longer: writers wait meanwhile. Most servers need 1 s. */
const maxYieldMs = 5_000;
const lockNotAvailable = "55P03";

/**
 * Runs a script that locks `sql`, as one transaction. Other statements wait behind the request for a
 * lock, so each attempt waits for {@link briefMs}, and is repeated until `waitMs` are over.
 *
 * Autovacuum gives way to a request that has waited for the server's `deadlock_timeout`. So if it alone
 * is in the way, one attempt waits for longer than that.
 *
 * @throws StoreError that names the transactions in the way.
 * @throws AbortedError if `signal` was aborted.
 */
export async function runWithBriefLock(
  setting: Setting,
  script: string,
  what: { readonly doing: string; readonly sql: string; readonly blocking: Blocking },
  { waitMs = 20_000, signal }: LockOptions,
): Promise<void> {
  const { connections } = setting;
  const { environment } = connections;
  const until = environment.monotonic() + waitMs;
  let before: readonly Holder[] = [];
  /** The transactions of autovacuum that a long attempt has asked to give way. */
  const asked = new Set<string>();
  for (let attemptMs = briefMs; ; ) {
    throwIfAborted(signal, `Trying to ${what.doing}`);
    try {
      // One round trip is one transaction, which holds its lock for as long as it runs.
      await connections.script(`set local lock_timeout = ${attemptMs};\n${script}`, what.doing);
      return;
    } catch (error) {
      if (stateOf(error) !== lockNotAvailable) throw error;
      const holders = await readHolders(setting, what.sql, what.blocking);
      if (environment.monotonic() + pauseMs > until) {
        throw new StoreError(
          `Could not ${what.doing} within ${waitMs} ms, because ${shownHolders(holders, what.sql)}. ` +
            `The table is unchanged. ${advice(holders)}Let them end, and repeat the call. With \`waitMs\` it waits for longer.`,
          { cause: error, retryable: true },
        );
      }
      // Those that were in the way twice. Others end soon by themselves.
      const lasting = holders.filter(({ id }) => before.some((each) => each.id === id));
      const willYield = lasting.every(({ yieldMs, id }) => yieldMs !== undefined && !asked.has(id));
      const yieldMs = willYield ? (lasting[0]?.yieldMs ?? 0) : 0;
      attemptMs = briefMs + yieldMs;
      if (yieldMs > 0) for (const { id } of lasting) asked.add(id);
      before = holders;
      await sleep(environment, pauseMs, signal, `Trying to ${what.doing}`);
    }
  }
}

/** Throws for options that cannot be. */
export function checkLockOptions({ waitMs = 0 }: LockOptions): void {
  if (Number.isFinite(waitMs) && waitMs >= 0) return;
  throw new InvalidArgumentError(`\`waitMs\` must be a number of at least 0, not ${describeValue(waitMs)}.`);
}

const maxShown = 5;

/** A transaction that holds a lock on a table. */
interface Holder {
  /** The server's name of the transaction. */
  readonly id: string;
  /** How a message names it. */
  readonly shown: string;
  /** Its name in SQL, if it is a prepared transaction. */
  readonly prepared: string | undefined;
  readonly isAutovacuum: boolean;
  /** Milliseconds after which it releases its lock for others that wait. Undefined if it keeps it. */
  readonly yieldMs: number | undefined;
}

/**
 * The transactions that hold locks on a table, the oldest first. The server hides from an ordinary role
 * what others do. Autovacuum is then the process in a database that has no role.
 */
async function readHolders(
  { connections }: Setting,
  sql: string,
  blocking: Blocking,
): Promise<readonly Holder[]> {
  const harmless = blocking === "writers" ? "'AccessShareLock', 'RowShareLock'" : "''";
  const query = statement(
    `select l.virtualtransaction, l.pid, quote_literal(p.gid), coalesce(a.application_name, ''),
       round(extract(epoch from clock_timestamp() - coalesce(a.xact_start, p.prepared))),
       coalesce(a.backend_type = 'autovacuum worker', a.pid is not null and a.usesysid is null),
       coalesce(a.query like '%(to prevent wraparound)', false),
       (select setting from pg_settings where name = 'deadlock_timeout')
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     left join pg_locks x on l.pid is null and x.pid is null and x.locktype = 'transactionid'
       and x.virtualtransaction = l.virtualtransaction
     left join pg_prepared_xacts p on p.transaction = x.transactionid
     where l.relation = to_regclass($1) and l.database = (select oid from pg_database where datname = current_database())
       and l.granted and l.pid is distinct from pg_backend_pid() and l.mode not in (${harmless})
     group by 1, 2, 3, 4, 5, 6, 7 order by 5 desc nulls last`,
  );
  const rows = await connections.repeat(query, [sql], "look for locks");
  return rows.map(([id, pid, prepared, program, seconds, autovacuum, wraparound, deadlockMs]) => {
    const isAutovacuum = autovacuum === "t";
    const yieldMs = Number(deadlockMs);
    const facts = [
      isAutovacuum ? "autovacuum" : program,
      wraparound === "t" ? "to prevent wraparound" : "",
      typeof seconds === "string" ? `for ${seconds} s` : "",
    ].filter(Boolean);
    return {
      id: id!,
      shown: `${prepared ?? pid}${facts.length === 0 ? "" : ` (${facts.join(", ")})`}`,
      prepared: prepared ?? undefined,
      isAutovacuum,
      yieldMs: isAutovacuum && wraparound !== "t" && yieldMs <= maxYieldMs ? yieldMs : undefined,
    };
  });
}

function shownHolders(holders: readonly Holder[], sql: string): string {
  if (holders.length === 0) return "other transactions held locks";
  const list = (some: readonly Holder[]) =>
    some
      .slice(0, maxShown)
      .map(({ shown }) => shown)
      .join(", ");
  const running = holders.filter(({ prepared }) => prepared === undefined);
  const prepared = holders.filter(({ prepared }) => prepared !== undefined);
  return [
    running.length === 0 ? "" : `transactions of these server processes held ${sql}: ${list(running)}`,
    prepared.length === 0 ? "" : `prepared transactions held ${sql}: ${list(prepared)}`,
  ]
    .filter(Boolean)
    .join("; and ");
}

/** What to do about transactions that do not end by themselves. */
function advice(holders: readonly Holder[]): string {
  const prepared = holders.find((each) => each.prepared !== undefined)?.prepared;
  return [
    prepared === undefined
      ? ""
      : `A prepared transaction stays until somebody ends it: \`commit prepared ${prepared}\`, or \`rollback prepared ${prepared}\`. `,
    holders.some(({ isAutovacuum }) => isAutovacuum)
      ? "An autovacuum that prevents wraparound does not give way: `pg_stat_progress_vacuum` shows how far it is. "
      : "",
  ].join("");
}
