import type { ProcessVitals } from "../../environment/index.js";
import {
  type Guard,
  type Mutation,
  type MutationAnswer,
  type Position,
  pages,
  type RowStore,
} from "../../store/index.js";
import { decodeWrite, putHint, systemCell, systemTable } from "../../transaction/index.js";
import { isBeyondBelief } from "../expiry.js";
import {
  decodeJson,
  dictionaryOf,
  encodeJson,
  isAmount,
  isString,
  isTime,
  isWhole,
  listOf,
  record,
} from "../stored-json.js";
import { suspect } from "./crash-suspects.js";

/** Names of observers, each with the version that a session runs. */
export type HostedObservers = Readonly<Record<string, number>>;

/** The record by which a session tells the others about itself. */
export interface SessionRecord {
  /** The observers that its workers run, each with its version. */
  readonly observers: HostedObservers;
  /**
   * Wall time, in milliseconds, after which a process that has not watched the session counts it as
   * dead. It changes with each heartbeat.
   */
  readonly expires: number;
  /**
   * The process's name, as the environment gives it. If other processes can see that this process
   * has ended, they need not wait for the expiry.
   */
  readonly process: string;
  /** How the process did at the heartbeat. Processes that cannot measure themselves say nothing. */
  readonly vitals?: SessionVitals | undefined;
}

/** How a process does, and the version of the package that it runs. */
export interface SessionVitals extends ProcessVitals {
  readonly version: string;
}

const isSessionRecord = record<Omit<SessionRecord, "vitals"> & { readonly vitals?: unknown }>({
  observers: dictionaryOf(isWhole),
  expires: isTime,
  process: isString,
  // A session lives even if another version of the package writes other vitals.
  vitals: (_): _ is unknown => true,
});

const isVitals = record<SessionVitals>({
  version: isString,
  upMs: isAmount,
  cpuShare: isAmount,
  loopDelayMs: isAmount,
  memoryBytes: isAmount,
});

/** The names of what a program declares: `orders`, and `orders.total` for each column. */
interface StoredDeclared {
  readonly names: readonly string[];
}

const isDeclared = record<StoredDeclared>({ names: listOf(isString) });

/** How long a session counts as alive after a heartbeat, in milliseconds. */
export const timeToLiveMs = 5_000;

const rowPrefix = "session/";
const stateColumn = Buffer.from("state");
/** Has what the session's program declares. It does not change, so heartbeats do not write it. */
const declaredColumn = Buffer.from("declared");
/**
 * A column in the row of a session that is being removed. Its timestamp is that of the session's
 * unclean end.
 */
const endedColumn = Buffer.from("ended");
/** Each session has a single record, at this timestamp. Each heartbeat replaces the record. */
const recordTimestamp = 1;
const forever = Number.POSITIVE_INFINITY;
const isRecorded: Guard = { type: "present", column: stateColumn, part: "write", at: recordTimestamp };

const noBytes = new Uint8Array(0);
const unreadable: SessionRecord = Object.freeze({ observers: {}, expires: 0, process: "" });

/** The records of a store's sessions, each in a row of the system table. */
export class SessionRecords {
  readonly #store: RowStore;
  readonly #onUnreadable: (session: string, error: unknown) => void;

  constructor(store: RowStore, onUnreadable: (session: string, error: unknown) => void) {
    this.#store = store;
    this.#onUnreadable = onUnreadable;
  }

  /** All records, including those of dead sessions. */
  async *all(): AsyncGenerator<readonly [string, SessionRecord]> {
    const end = { row: Buffer.from("session0") };
    const columns = [{ exact: stateColumn }];
    const read = (start?: Position) =>
      this.#store.readRange({ table: systemTable, start, end, columns, at: forever });
    for await (const page of pages(read, { row: Buffer.from(rowPrefix) })) {
      for (const { row, cells } of page.rows) {
        const stored = cells[0]?.write?.value;
        if (stored === undefined) continue;
        const session = Buffer.from(row).toString("utf8").slice(rowPrefix.length);
        yield [session, this.#decode(session, stored)];
      }
    }
  }

  /**
   * An unreadable record counts as the record of a dead session. If the session is alive, it writes
   * the record again within a second.
   */
  #decode(session: string, stored: Uint8Array): SessionRecord {
    try {
      const bytes = decodeWrite(stored).value ?? noBytes;
      const { vitals, ...read } = decodeJson(bytes, `The record of session ${session}`, isSessionRecord);
      return isVitals(vitals) ? { ...read, vitals } : read;
    } catch (error) {
      this.#onUnreadable(session, error);
      return unreadable;
    }
  }

  /**
   * Writes a session's record, with what its program declares. Also deletes the column of an unclean
   * end, because the session is alive.
   */
  async put(session: string, state: SessionRecord, declared: readonly string[] = []): Promise<void> {
    const names = encodeJson({ names: declared } satisfies StoredDeclared);
    await this.#write(session, state, [], [putHint(declaredColumn, recordTimestamp, names)]);
  }

  /**
   * Like {@link put}, if there is a record. Resolves to whether that is certain. If not, another
   * process may have removed the session.
   */
  async renew(session: string, state: SessionRecord): Promise<boolean> {
    return (await this.#write(session, state, [isRecorded], [])) === "applied";
  }

  #write(
    session: string,
    state: SessionRecord,
    guards: readonly Guard[],
    mutations: readonly Mutation[],
  ): Promise<MutationAnswer> {
    return this.#store.mutate({
      ...rowOf(session),
      guards,
      mutations: [
        ...mutations,
        putHint(stateColumn, recordTimestamp, encodeJson(state)),
        { type: "delete", column: endedColumn, part: "write", from: 0, to: forever },
      ],
    });
  }

  /** What the program of a session declares. Empty if an older version of the package wrote the record. */
  async declared(session: string): Promise<readonly string[]> {
    const read = { ...rowOf(session), columns: [{ exact: declaredColumn }], at: forever };
    // A page that comes at once may be lent, and must not be awaited.
    const answer = this.#store.readRow(read);
    const page = answer instanceof Promise ? await answer : answer;
    const stored = page.cells[0]?.write?.value;
    if (stored === undefined) return [];
    const bytes = decodeWrite(stored).value ?? noBytes;
    return decodeJson(bytes, `The record of session ${session}`, isDeclared).names;
  }

  async remove(session: string): Promise<void> {
    await this.#store.mutate({
      ...rowOf(session),
      guards: [],
      mutations: [stateColumn, declaredColumn, endedColumn].map((column) => ({
        type: "delete" as const,
        column,
        part: "write" as const,
        from: 0,
        to: forever,
      })),
    });
  }

  /**
   * Records the timestamp of a session's unclean end, and returns the recorded one. If several
   * processes remove the session at the same time, all of them get the timestamp that was recorded
   * first. Undefined if the session's record is gone.
   */
  async end(session: string, timestamp: number): Promise<number | undefined> {
    const answer: MutationAnswer = await this.#store.mutate({
      ...rowOf(session),
      guards: [isRecorded, { type: "absent", column: endedColumn, part: "write", from: 0, to: forever }],
      mutations: [putHint(endedColumn, timestamp)],
    });
    if (answer === "applied") return timestamp;
    const read = { ...rowOf(session), columns: [{ exact: endedColumn }], at: forever };
    return (await this.#store.readRow(read)).cells[0]?.write?.timestamp;
  }
}

/**
 * Yields the records that every reader ignores. A reader ignores a record that it cannot read, and
 * one whose expiry is so late that only a wrong clock can have written it.
 */
export async function* strayedSessions(
  store: RowStore,
  nowMs: number,
): AsyncGenerator<{ readonly session: string; readonly expires?: number; readonly error?: unknown }> {
  const broken = new Map<string, unknown>();
  const records = new SessionRecords(store, (session, error) => broken.set(session, error));
  for await (const [session, { expires }] of records.all()) {
    if (broken.has(session)) yield { session, error: broken.get(session) };
    else if (isBeyondBelief(expires, timeToLiveMs, nowMs)) yield { session, expires };
  }
}

/**
 * Removes all sessions of a store that no process uses: their processes run on another copy of it, or
 * have ended. Their observers' hints become suspect, as after an unclean end.
 *
 * @returns How many sessions were removed.
 */
export async function endSessions(store: RowStore, next: () => Promise<number>): Promise<number> {
  const records = new SessionRecords(store, () => undefined);
  const ended: (readonly [string, SessionRecord])[] = [];
  for await (const each of records.all()) ended.push(each);
  for (const [session, { observers }] of ended)
    await endSession(store, records, session, { observers }, next);
  return ended.length;
}

/**
 * Removes a session that ended uncleanly. Its end gets one timestamp, even if several processes
 * remove it. The timestamp is a new one from the oracle. If another session ends later, without a
 * commit in between, its end therefore gets a later timestamp and counts too. Resolves to whether
 * the session was still there.
 */
export async function endSession(
  store: RowStore,
  records: SessionRecords,
  session: string,
  { observers }: Pick<SessionRecord, "observers">,
  next: () => Promise<number>,
): Promise<boolean> {
  const upTo = await records.end(session, await next());
  if (upTo === undefined) return false;
  await suspect(store, Object.keys(observers), upTo);
  await records.remove(session);
  return true;
}

function rowOf(session: string): { readonly table: string; readonly row: Uint8Array } {
  const { table, row } = systemCell(`${rowPrefix}${session}`, "state");
  return { table, row };
}
