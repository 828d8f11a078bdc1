import { type MutationAnswer, type Position, pages, type RowStore } from "../../store/index.js";
import { decodeWrite, putHint, systemCell, systemTable } from "../../transaction/index.js";
import { isBeyondBelief } from "../expiry.js";
import { decodeJson, dictionaryOf, encodeJson, isString, isTime, isWhole, record } from "../stored-json.js";

/** Names of observers with the version that is run. */
export type HostedObservers = Readonly<Record<string, number>>;

/** What a session tells the others of itself. */
export interface SessionRecord {
  /** The observers that its workers run, each with its version. */
  readonly observers: HostedObservers;
  /**
   * Wall time in milliseconds after which it counts as dead for who has not watched it. Changes
   * with each sign of life.
   */
  readonly expires: number;
  /**
   * The process, by the environment's name for it: where that is known to have ended, nobody waits
   * for the time.
   */
  readonly process: string;
}

const isSessionRecord = record<SessionRecord>({
  observers: dictionaryOf(isWhole),
  expires: isTime,
  process: isString,
});

/** A session counts as alive for so long after a sign of life, in milliseconds. */
export const timeToLiveMs = 5_000;

const rowPrefix = "session/";
const stateColumn = Buffer.from("state");
/**
 * Stands in the row of a session that is being cleared away: its timestamp is the one of its
 * unclean end.
 */
const endedColumn = Buffer.from("ended");
/** A session has one record, which each sign of life replaces. */
const recordTimestamp = 1;
const forever = Number.POSITIVE_INFINITY;

const noBytes = new Uint8Array(0);
const unreadable: SessionRecord = Object.freeze({ observers: {}, expires: 0, process: "" });

/** Where the sessions of a store stand, a row each in its system table. */
export class SessionRecords {
  readonly #store: RowStore;
  readonly #onUnreadable: (session: string, error: unknown) => void;

  constructor(store: RowStore, onUnreadable: (session: string, error: unknown) => void) {
    this.#store = store;
    this.#onUnreadable = onUnreadable;
  }

  /** All that stand, dead ones too. */
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
   * A record that cannot be read is of nobody who lives: whoever does writes it anew within a
   * second.
   */
  #decode(session: string, stored: Uint8Array): SessionRecord {
    try {
      const bytes = decodeWrite(stored).value ?? noBytes;
      return decodeJson(bytes, `The record of session ${session}`, isSessionRecord);
    } catch (error) {
      this.#onUnreadable(session, error);
      return unreadable;
    }
  }

  /** Puts a session's record in the place of what stood; whoever took it for dead was wrong. */
  async put(session: string, state: SessionRecord): Promise<void> {
    await this.#store.mutate({
      ...rowOf(session),
      guards: [],
      mutations: [
        putHint(stateColumn, recordTimestamp, encodeJson(state)),
        { type: "delete", column: endedColumn, part: "write", from: 0, to: forever },
      ],
    });
  }

  async remove(session: string): Promise<void> {
    await this.#store.mutate({
      ...rowOf(session),
      guards: [],
      mutations: [stateColumn, endedColumn].map((column) => ({
        type: "delete" as const,
        column,
        part: "write" as const,
        from: 0,
        to: forever,
      })),
    });
  }

  /**
   * Gives a session's unclean end its timestamp, unless it has one: the same for all who clear it
   * away at a time. Undefined where it is gone already.
   */
  async end(session: string, timestamp: number): Promise<number | undefined> {
    const answer: MutationAnswer = await this.#store.mutate({
      ...rowOf(session),
      guards: [
        { type: "present", column: stateColumn, part: "write", at: recordTimestamp },
        { type: "absent", column: endedColumn, part: "write", from: 0, to: forever },
      ],
      mutations: [putHint(endedColumn, timestamp)],
    });
    if (answer === "applied") return timestamp;
    const read = { ...rowOf(session), columns: [{ exact: endedColumn }], at: forever };
    return (await this.#store.readRow(read)).cells[0]?.write?.timestamp;
  }
}

/** The records that cannot be read, and those that say they last for longer than any does. */
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

function rowOf(session: string): { readonly table: string; readonly row: Uint8Array } {
  const { table, row } = systemCell(`${rowPrefix}${session}`, "state");
  return { table, row };
}
