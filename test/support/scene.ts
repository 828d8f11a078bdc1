import type { Mutation, Part, RowStore } from "../../src/store/index.js";
import { memoryStore } from "../../src/store/memory/index.js";
import { ProtocolWatcher, type Violation } from "../../src/testing/invariants/index.js";
import { WatchedStore } from "../../src/testing/world/index.js";
import { encodeLock, encodeStatus } from "../../src/transaction/cell/records.js";
import {
  type CellAddress,
  encodeTimestamp,
  encodeWrite,
  hintTable,
  putHint,
  safepointCell,
  systemCell,
} from "../../src/transaction/index.js";

const afterAll = Number.POSITIVE_INFINITY;

/** Returns a cell of the table "t" by its row and column. */
export function at(row: string, column = "c"): CellAddress {
  return { table: "t", row: Buffer.from(row), column: Buffer.from(column) };
}

export function recordCell(kind: "ack" | "parked", observer: string, cell: CellAddress): CellAddress {
  return { ...cell, column: Buffer.concat([Buffer.from(`~${kind}\0${observer}\0`), cell.column]) };
}

/** A watched store to which a test can write anything, valid or not. */
export class Scene {
  readonly store: RowStore;
  readonly violations: Violation[] = [];
  readonly watcher: ProtocolWatcher;
  readonly #watched: WatchedStore;

  constructor(atomicBatches = true) {
    this.store = memoryStore({ atomicBatches });
    this.#watched = new WatchedStore(this.store);
    this.watcher = this.watch();
  }

  /** Starts another watcher, which sees only later changes. */
  watch(): ProtocolWatcher {
    const onViolation = (violation: Violation) => this.violations.push(violation);
    const watcher = new ProtocolWatcher({ store: this.store, onViolation, registryCacheMs: 0 });
    this.#watched.watch(watcher);
    return watcher;
  }

  /** The broken invariants, each once. */
  get broken(): readonly number[] {
    return [...new Set(this.violations.map(({ invariant }) => invariant))];
  }

  async mutate({ table, row }: CellAddress, ...mutations: readonly Mutation[]): Promise<void> {
    await this.#watched.mutate({ table, row, guards: [], mutations });
  }

  async batch(...rows: readonly { readonly cell: CellAddress; readonly mutations: readonly Mutation[] }[]) {
    const mutated = rows.map(({ cell, mutations }) => ({ ...cell, guards: [], mutations }));
    await this.#watched.atomic!.commit({ rows: mutated });
  }

  /** Writes as a one-phase commit does. Without a value it deletes. */
  write(cell: CellAddress, start: number, commit: number, value?: string | Uint8Array): Promise<void> {
    return this.mutate(cell, write(cell, start, commit, value, true));
  }

  lock(cell: CellAddress, start: number, primary: CellAddress, value?: string, minCommit = start + 1) {
    return this.mutate(cell, lock(cell, start, primary, value, minCommit));
  }

  /** Locks a cell, with its value in a data cell. */
  async lockExternal(cell: CellAddress, start: number, primary: CellAddress, value: string): Promise<void> {
    const { column } = cell;
    const data: Mutation = { type: "put", column, part: "data", timestamp: start, value: Buffer.from(value) };
    await this.mutate(
      cell,
      { ...lock(cell, start, primary, undefined), value: lockValue(primary, start) },
      data,
    );
  }

  commitPrimary(cell: CellAddress, start: number, commit: number, value?: string): Promise<void> {
    return this.mutate(
      cell,
      write(cell, start, commit, value, false),
      remove(cell, "lock", start),
      status(cell, start, commit),
    );
  }

  commitSecondary(cell: CellAddress, start: number, commit: number, value?: string): Promise<void> {
    return this.mutate(cell, write(cell, start, commit, value, false), remove(cell, "lock", start));
  }

  rollbackPrimary(cell: CellAddress, start: number): Promise<void> {
    return this.mutate(cell, remove(cell, "lock", start), remove(cell, "data", start), status(cell, start));
  }

  rollbackSecondary(cell: CellAddress, start: number): Promise<void> {
    return this.mutate(cell, remove(cell, "lock", start), remove(cell, "data", start));
  }

  remove(cell: CellAddress, part: Part, timestamp: number): Promise<void> {
    return this.mutate(cell, remove(cell, part, timestamp));
  }

  /** Registers an observer of the column "c" of the table "t". */
  async observer(name: string, commit: number, kind: "column" | "signal" = "column"): Promise<void> {
    const json = (value: object) => Buffer.from(JSON.stringify(value));
    const row = `registry/observer/${name}`;
    const definition = json({ table: "t", column: "c", kind });
    const version = json({ version: 1, recordedAt: 0 });
    await this.mutate(
      systemCell(row, ""),
      write(systemCell(row, "definition"), commit - 1, commit, definition, true),
      write(systemCell(row, "version"), commit - 1, commit, version, true),
    );
  }

  /** Begins a backfill of an observer over its whole table. */
  backfill(name: string, commit: number): Promise<void> {
    const state = Buffer.from(
      JSON.stringify({ start: null, end: null, cursor: null, column: null, version: 1, marked: 0 }),
    );
    const cell = systemCell(`registry/observer/${name}`, "backfill/one");
    return this.mutate(cell, write(cell, commit - 1, commit, state, true));
  }

  async unregister(name: string, commit: number): Promise<void> {
    const row = `registry/observer/${name}`;
    await this.mutate(
      systemCell(row, ""),
      write(systemCell(row, "definition"), commit - 1, commit, undefined, true),
      write(systemCell(row, "version"), commit - 1, commit, undefined, true),
    );
  }

  /** Records the state of a bulk load of the rows before "m" of a table. Undefined: it is forgotten. */
  async loadState(
    start: number,
    commit: number,
    state: "loading" | "discarding" | "published" | undefined,
    table = "t",
  ): Promise<void> {
    const definition = JSON.stringify({
      name: "load",
      ranges: [{ table, end: Buffer.from("m").toString("hex") }],
    });
    const cell = systemCell(`registry/load/${start}`, "state");
    const parts = {
      definition: state === undefined ? undefined : definition,
      state: state && JSON.stringify(state),
    };
    const mutations = Object.entries(parts).map(([column, value]) =>
      write({ ...cell, column: Buffer.from(column) }, commit - 1, commit, value, true),
    );
    await this.mutate(cell, ...mutations);
  }

  /** Puts a record of a bulk load. */
  loaded(cell: CellAddress, start: number, timestamp: number, value: string | Uint8Array): Promise<void> {
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    const record = encodeWrite({ start, kind: "put", onePhase: false, loaded: true, value: bytes });
    return this.mutate(cell, { type: "put", column: cell.column, part: "write", timestamp, value: record });
  }

  hint(observer: string, cell: CellAddress, commit: number): Promise<void> {
    return this.mutate(hintOf(observer, cell), putHint(cell.column, commit));
  }

  /** Removes the versions of a hint at or below a timestamp. */
  removeHint(observer: string, cell: CellAddress, upTo: number): Promise<void> {
    return this.mutate(hintOf(observer, cell), removeHint(cell, upTo));
  }

  acknowledge(
    observer: string,
    cell: CellAddress,
    start: number,
    commit: number,
    version = 1,
  ): Promise<void> {
    return this.write(recordCell("ack", observer, cell), start, commit, record(start, version));
  }

  park(observer: string, cell: CellAddress, start: number, commit: number): Promise<void> {
    return this.write(recordCell("parked", observer, cell), start, commit, record(start, 1));
  }

  safepoint(timestamp: number): Promise<void> {
    return this.mutate(safepointCell, putHint(safepointCell.column, timestamp));
  }
}

export function hintOf(observer: string, { row, column }: CellAddress): CellAddress {
  return { table: hintTable, row: Buffer.concat([Buffer.from(`${observer}\0\x07`), row]), column };
}

export function removeHint({ column }: CellAddress, upTo: number): Mutation {
  return { type: "delete", column, part: "write", from: 0, to: upTo + 1 };
}

export function remove({ column }: CellAddress, part: Part, timestamp: number): Mutation {
  return { type: "delete", column, part, from: timestamp, to: timestamp + 1 };
}

export function removeUpTo({ column }: CellAddress, part: Part, timestamp = afterAll): Mutation {
  return { type: "delete", column, part, from: 0, to: timestamp + 1 };
}

export function write(
  { column }: CellAddress,
  start: number,
  commit: number,
  value: string | Uint8Array | undefined,
  onePhase: boolean,
): Mutation {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  const kind = value === undefined ? "delete" : "put";
  const encoded = encodeWrite({ start, kind, onePhase, value: bytes });
  return { type: "put", column, part: "write", timestamp: commit, value: encoded };
}

/** A write record whose value is in a data cell. */
export function writeExternal({ column }: CellAddress, start: number, commit: number): Mutation {
  const value = encodeWrite({ start, kind: "put", onePhase: false, value: undefined });
  return { type: "put", column, part: "write", timestamp: commit, value };
}

function lock(
  { column }: CellAddress,
  start: number,
  primary: CellAddress,
  value: string | undefined,
  minCommit = start + 1,
): Mutation & { readonly type: "put" } {
  const bytes = lockValue(primary, start, value, value === undefined ? "delete" : "put", minCommit);
  return { type: "put", column, part: "lock", timestamp: start, value: bytes };
}

function lockValue(
  primary: CellAddress,
  start: number,
  value?: string,
  kind: "put" | "delete" = "put",
  minCommit = start + 1,
): Buffer {
  return encodeLock({
    minCommit,
    kind,
    primary,
    session: "session",
    refreshedAt: 0,
    ttlMs: 1_000,
    value: value === undefined ? undefined : Buffer.from(value),
    others: [],
  });
}

/** A status: COMMIT if there is a commit timestamp, else ROLLBACK. */
export function status({ column }: CellAddress, start: number, commit?: number): Mutation {
  const value = encodeStatus(
    commit === undefined ? { outcome: "rolled-back" } : { outcome: "committed", commit },
  );
  return { type: "put", column, part: "txn", timestamp: start, value };
}

function record(start: number, version: number): Buffer {
  const rest = Buffer.alloc(8);
  rest.writeUInt32BE(version);
  return Buffer.concat([encodeTimestamp(start), rest]);
}
