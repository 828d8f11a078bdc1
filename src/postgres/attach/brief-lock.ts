import { sleep, throwIfAborted } from "../../environment/index.js";
import { InvalidArgumentError, StoreError } from "../../errors/index.js";
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

const pauseMs = 200;
const lockNotAvailable = "55P03";

/**
 * Runs a script that locks `sql`, as one transaction. Other statements wait behind the request for a
 * lock, so the script sets a short `lock_timeout`, and is repeated until `waitMs` are over.
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
  for (;;) {
    throwIfAborted(signal, `Trying to ${what.doing}`);
    try {
      // One round trip is one transaction, which holds its lock for as long as it runs.
      await connections.script(script, what.doing);
      return;
    } catch (error) {
      if (stateOf(error) !== lockNotAvailable) throw error;
      if (environment.monotonic() + pauseMs > until) {
        throw new StoreError(
          `Could not ${what.doing} within ${waitMs} ms, because ${await holders(setting, what.sql, what.blocking)}. ` +
            "The table is unchanged. Let them end, and repeat the call. With `waitMs` it waits for longer.",
          { cause: error, retryable: true },
        );
      }
      await sleep(environment, pauseMs, signal, `Trying to ${what.doing}`);
    }
  }
}

/** Throws for options that cannot be. */
export function checkLockOptions({ waitMs = 0 }: LockOptions): void {
  if (Number.isFinite(waitMs) && waitMs >= 0) return;
  throw new InvalidArgumentError(`\`waitMs\` must be a number of at least 0, not ${waitMs}.`);
}

const shownHolders = 5;

/** The transactions that hold locks on a table, the oldest first. The server hides some of it from other roles. */
async function holders({ connections }: Setting, sql: string, blocking: Blocking): Promise<string> {
  const harmless = blocking === "writers" ? "'AccessShareLock', 'RowShareLock'" : "''";
  const query = statement(
    `select l.pid, a.application_name, round(extract(epoch from clock_timestamp() - a.xact_start))
     from pg_locks l left join pg_stat_activity a on a.pid = l.pid
     where l.relation = to_regclass($1) and l.database = (select oid from pg_database where datname = current_database())
       and l.granted and l.pid <> pg_backend_pid() and l.mode not in (${harmless})
     group by 1, 2, 3 order by 3 desc nulls last limit ${shownHolders}`,
  );
  const rows = await connections.repeat(query, [sql], "look for locks");
  if (rows.length === 0) return "other transactions held locks";
  const shown = rows.map(([pid, program, seconds]) => {
    const facts = [program, typeof seconds === "string" ? `for ${seconds} s` : ""].filter(Boolean).join(", ");
    return facts === "" ? `${pid}` : `${pid} (${facts})`;
  });
  return `transactions of these server processes held ${sql}: ${shown.join(", ")}`;
}
