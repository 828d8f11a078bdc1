import { allColumns, type PartVersion, type Position, pages, parts } from "../../store/index.js";
import type { CellAddress } from "../cell/address.js";
import { isSameCell, showColumn } from "../cell/address.js";
import { metLock, pushesPerTransaction, type ResolutionOutcome } from "../cell/met-lock.js";
import { after, readCells } from "../cell/raw.js";
import { ofPart, walkCells } from "../cell/raw-walk.js";
import { decodeLock, decodeStatus, decodeWrite, type StatusRecord, type WriteKind } from "../cell/records.js";
import type { TransactionContext } from "../context.js";

/** A lock in the store, decoded. */
export interface LockInfo {
  readonly cell: CellAddress;
  /** Start timestamp of the transaction that holds the lock. */
  readonly startTimestamp: number;
  readonly kind: WriteKind;
  readonly primary: CellAddress;
  /** Whether this is the primary lock of its transaction. */
  readonly isPrimary: boolean;
  /** The session of the process that wrote the lock. */
  readonly session: string;
  /** The transaction may commit only at this timestamp or later. */
  readonly minCommitTimestamp: number;
  /** Wall-clock time at which the owner last refreshed the lock. */
  readonly refreshedAt: Date;
  /** Milliseconds after `refreshedAt` during which the lock's owner counts as alive. */
  readonly ttlMs: number;
  /** Length of the inline value in bytes. Undefined for a delete and for a value in a data cell. */
  readonly valueBytes: number | undefined;
}

/** What the protocol stores for one column of a row, decoded (the paper, figure 4). */
export interface InspectedColumn {
  /** `name` or `name:qualifier`. The protocol's own columns begin with `~`. */
  readonly column: string;
  /** The encoded path of the column. */
  readonly path: Uint8Array;
  /** At most one lock in a sound store. */
  readonly locks: readonly LockInfo[];
  /** Write records, newest first, at most 1,000. `value` is undefined for a delete and for a value in `data`. */
  readonly writes: readonly {
    readonly commitTimestamp: number;
    readonly startTimestamp: number;
    readonly kind: WriteKind;
    readonly onePhase: boolean;
    /** Whether a bulk load put it. It is visible from the load's publication on. */
    readonly loaded: boolean;
    readonly value: Uint8Array | undefined;
  }[];
  /** Values that are too long for a write record, newest first. */
  readonly data: readonly { readonly startTimestamp: number; readonly value: Uint8Array }[];
  /** Outcomes of transactions whose primary is this cell, newest first. */
  readonly statuses: readonly { readonly startTimestamp: number; readonly status: StatusRecord }[];
}

/** The most versions of each part of a cell. A hot cell has millions, and all are in memory at once. */
const maxVersions = 1_000;

/** Decodes the protocol's cells of one row, for the command line and the dashboard. A row may have millions. */
export async function* inspectRow(
  context: TransactionContext,
  table: string,
  row: Uint8Array,
): AsyncGenerator<InspectedColumn> {
  const end = { row: after(row) };
  const read = (start?: Position) =>
    context.store.readRaw({ table, start, end, columns: allColumns, parts, versions: maxVersions });
  for await (const page of pages(read, { row })) {
    for (const found of page.rows) {
      for (const { column, versions } of found.cells) yield inspectCell({ table, row, column }, versions);
    }
  }
}

function inspectCell(cell: CellAddress, versions: readonly PartVersion[]): InspectedColumn {
  return {
    column: showColumn(cell.column),
    path: cell.column,
    locks: ofPart(versions, "lock").map((version) => lockInfo(cell, version)),
    writes: ofPart(versions, "write").map(({ timestamp, value }) => {
      const record = decodeWrite(value);
      const { start, kind, onePhase, loaded = false, value: bytes } = record;
      return { commitTimestamp: timestamp, startTimestamp: start, kind, onePhase, loaded, value: bytes };
    }),
    data: ofPart(versions, "data").map(({ timestamp, value }) => ({ startTimestamp: timestamp, value })),
    statuses: ofPart(versions, "txn").map(({ timestamp, value }) => ({
      startTimestamp: timestamp,
      status: decodeStatus(value),
    })),
  };
}

function lockInfo(cell: CellAddress, version: PartVersion): LockInfo {
  const lock = decodeLock(version.value);
  return {
    cell,
    startTimestamp: version.timestamp,
    kind: lock.kind,
    primary: lock.primary,
    isPrimary: isSameCell(cell, lock.primary),
    session: lock.session,
    minCommitTimestamp: lock.minCommit,
    refreshedAt: new Date(lock.refreshedAt),
    ttlMs: lock.ttlMs,
    valueBytes: lock.value?.length,
  };
}

/** Every lock in the given tables, in table, row and column order. */
export async function* listLocks(
  context: TransactionContext,
  tables: readonly string[],
  signal?: AbortSignal,
): AsyncGenerator<LockInfo> {
  for (const table of tables) {
    for await (const cells of walkCells(context.store, context.environment, table, {
      parts: ["lock"],
      signal,
    })) {
      for (const cell of cells) for (const version of cell.versions) yield lockInfo(cell, version);
    }
  }
}

/** Resolves a lock by the state of its primary, as a writer that meets it does. */
export async function resolveLock(
  context: TransactionContext,
  lock: LockInfo,
  signal?: AbortSignal,
): Promise<ResolutionOutcome> {
  const { startTimestamp } = lock;
  // Within the cell's own bounds: a page may end before the cell if the row has very many versions.
  const [version] = await readCells(context.store, lock.cell, ["lock"], startTimestamp, startTimestamp + 1);
  if (version === undefined) return "gone";
  return context.resolver.resolve(context, metLock(lock.cell, version), {
    start: startTimestamp,
    role: "writer",
    signal,
    passed: new Set(),
    pushesLeft: pushesPerTransaction,
    attempt: 0,
  });
}
