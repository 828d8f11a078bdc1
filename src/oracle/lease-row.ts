import type { Environment } from "../environment/index.js";
import { OracleUnavailableError } from "../errors/index.js";
import type { Guard, MutationAnswer, RowStore } from "../store/index.js";
import { decodeLease, encodeLease, type LeaseRecord } from "./lease-record.js";
import { within } from "./within.js";

/** The oracle's table. It has one row with one cell. */
export const oracleTable = "~oracle";

const row = Buffer.from("leader");
const column = Buffer.from("lease");
/** The timestamp of the cell's only version, which each write replaces. */
const at = 1;

/** A lease as the row holds it. */
export interface StandingLease {
  readonly record: LeaseRecord;
  readonly bytes: Uint8Array;
}

/** A lease as this process saw it first. */
export interface SeenLease {
  readonly lease: StandingLease | undefined;
  /** The monotonic time after the read was answered, in milliseconds. */
  readonly at: number;
}

/** Reads and writes the row that decides which candidate leads. Each request has a timeout. */
export class LeaseRow {
  readonly #store: RowStore;
  readonly #environment: Environment;
  readonly #timeoutMs: number;

  constructor(store: RowStore, environment: Environment, timeoutMs: number) {
    this.#store = store;
    this.#environment = environment;
    this.#timeoutMs = timeoutMs;
  }

  prepare(signal: AbortSignal): Promise<void> {
    return this.#within("Preparing the oracle's table", signal, () => this.#store.prepare([oracleTable]));
  }

  /** The lease in the row. Undefined if there is none. */
  read(signal?: AbortSignal): Promise<StandingLease | undefined> {
    return this.#within("Reading the oracle's lease", signal, async (bounded) => {
      const read = { table: oracleTable, row, columns: [{ exact: column }], at: Number.POSITIVE_INFINITY };
      const answer = this.#store.readRow(read, { signal: bounded });
      const page = answer instanceof Promise ? await answer : answer;
      const value = page.cells[0]?.write?.value;
      if (value === undefined) return undefined;
      const bytes = Buffer.from(value);
      return { record: decodeLease(bytes), bytes };
    });
  }

  /**
   * Replaces `previous` with `next`, if the row still holds exactly `previous`. Replaced bytes
   * never come back to the row. A put that the store applies late therefore succeeds only if no
   * other write came in between.
   */
  async put(previous: StandingLease | undefined, next: LeaseRecord): Promise<MutationAnswer> {
    const guard: Guard =
      previous === undefined
        ? { type: "absent", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }
        : { type: "present", column, part: "write", at, equals: previous.bytes };
    const value = encodeLease(next);
    const mutation = {
      table: oracleTable,
      row,
      guards: [guard],
      mutations: [{ type: "put", column, part: "write", timestamp: at, value } as const],
    };
    try {
      return await this.#within("Writing the oracle's lease", undefined, (signal) =>
        this.#store.mutate(mutation, { signal }),
      );
    } catch (error) {
      if (error instanceof OracleUnavailableError) return "unknown";
      throw error;
    }
  }

  #within<T>(
    doing: string,
    signal: AbortSignal | undefined,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return within({ environment: this.#environment, timeoutMs: this.#timeoutMs, signal, doing }, ask);
  }
}

export interface ReadLeaseOptions {
  readonly store: RowStore;
  readonly environment: Environment;
  /** How long to wait for the store's answer, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The lease in the store, for clients that look for the leader. Its `name` is the leader's address.
 * Undefined if there never was a lease. The lease may have expired.
 */
export async function readLease(options: ReadLeaseOptions): Promise<LeaseRecord | undefined> {
  const { store, environment, timeoutMs, signal } = options;
  return (await new LeaseRow(store, environment, timeoutMs).read(signal))?.record;
}

/** Reads the lease again. Resolves to `seen` if the lease has not changed since. */
export async function lookAgain(seen: SeenLease | undefined, options: ReadLeaseOptions): Promise<SeenLease> {
  const { store, environment, timeoutMs, signal } = options;
  const lease = await new LeaseRow(store, environment, timeoutMs).read(signal);
  if (seen !== undefined && isSameLease(lease, seen.lease)) return seen;
  return { lease, at: environment.monotonic() };
}

/** Whether a lease holds exactly this record. */
export function isRecord(standing: StandingLease | undefined, record: LeaseRecord): boolean {
  return standing !== undefined && encodeLease(record).equals(standing.bytes);
}

/** Whether two reads of the row returned the same lease. */
export function isSameLease(a: StandingLease | undefined, b: StandingLease | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return Buffer.compare(a.bytes, b.bytes) === 0;
}
