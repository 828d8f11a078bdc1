import { closeSync, fstatSync, openSync, statfsSync, writeSync } from "node:fs";
import { arch, endianness } from "node:os";
import { dirname } from "node:path";
import { StoreFullError } from "../../../errors/index.js";
import { type CellBlock, CellCursor } from "../../cell-block.js";
import type { RowMutation } from "../../mutation.js";
import { DataFile, type FreePages, type Meta } from "../file/pages.js";
import { spareBytes } from "../record/state.js";
import type { Task } from "./draft/request.js";
import { GuardCache } from "./plan/guard-cache.js";

/**
 * If the disk has this much free space, the queue does not calculate how much a transaction needs,
 * because no transaction writes as much.
 */
const plentyBytes = 1024 ** 3;
/**
 * Disk space left to other programs. If they take up to this much while LMDB writes, LMDB does not
 * run out of space.
 */
const leftBytes = 4 * 1024 ** 2;
/**
 * If the disk has the space, the file grows by this much more than needed. So the file need not
 * grow at each transaction.
 */
const stepBytes = 1024 ** 2;
const zeros = Buffer.alloc(64 * 1024);

/**
 * Pages that a transaction changes besides its cells: the counter, the roots of the trees, and the
 * paths to them.
 */
const pagesOfTransaction = 24;
/**
 * The last {@link pagesForMakingRoom} pages are reserved for deletes of versions and for system
 * tables, as in garbage collection and at the end of a session. The {@link pagesForShort} pages
 * before them are reserved for these and for short values, such as delete markers.
 */
const pagesForMakingRoom = 32;
const pagesForShort = 32;
const shortBytes = 256;
/**
 * The most pages that one changed cell usually changes: its own page, one that is split off, and a
 * share of the pages above.
 */
const pagesOfCell = 2.5;
/** What a cell's entry has besides its row, column and record. */
const bytesOfFilledCell = 40;
/** Factor on the bytes of a value, because older records of the cell are stored with the value. */
const entryFactor = 1.25;
/** A value that takes more than this fraction of a page may get separate, consecutive pages. */
const longPart = 0.25;
/**
 * Runs of pages that a long value needs: its own, and another one, since the value that it replaces
 * may move.
 */
const rowsOfValue = 2;
/**
 * For a short value, LMDB sometimes takes a page out of a run of free pages that a long value needs.
 * In one transaction it usually does that to at most this many runs.
 */
const dividedRows = 4;

/** Whether this platform can read the file's pages. */
const isReadable = endianness() === "LE" && arch() !== "arm" && arch() !== "ia32";
const noSpace: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Finds disk space for one of LMDB's transactions before LMDB needs it.
 *
 * LMDB notices a full disk when a write fails, and prints that directly to standard error. To avoid
 * it, the write queue makes the file longer in advance if little space is left. It writes zeros
 * after LMDB's last page, so LMDB's own writes already have their blocks. If that is impossible,
 * and the file's free pages are too few as well, the queue refuses the task before LMDB sees it.
 */
export class Room {
  readonly #dataFile: string;
  readonly #freeBytes: number;
  readonly #oldestReader: () => number;
  readonly #state: Meta;
  #taken: Need;
  #hasSpares = false;
  #freePages: FreePages | undefined;

  private constructor(dataFile: string, freeBytes: number, oldestReader: () => number) {
    this.#dataFile = dataFile;
    this.#freeBytes = freeBytes;
    this.#oldestReader = oldestReader;
    this.#state = this.#open((file, state) => {
      // Other programs may fill the disk, so this space must be taken now.
      lengthen(file, state, pagesForMakingRoom + pagesForShort + pagesOfTransaction);
      return state;
    });
    const { branchPages, leafPages, overflowPages } = this.#state.free;
    // A transaction rewrites parts of the list of free pages.
    const single = pagesOfTransaction + branchPages + leafPages + overflowPages;
    this.#taken = { single, inRow: 0, rows: 0, longest: 0 };
  }

  /**
   * Call this at the beginning of a transaction, while holding LMDB's write lock. Undefined if
   * there is plenty of space, and on systems that do not report it. `oldestReader` is the oldest of
   * LMDB's transactions that any process reads; Infinity if none.
   */
  static begin(dataFile: string, oldestReader: () => number): Room | undefined {
    try {
      const { bavail, bsize } = statfsSync(dataFile);
      if (bavail * bsize >= plentyBytes || !isReadable) return undefined;
      return new Room(dataFile, bavail * bsize, oldestReader);
    } catch {
      // This system does not report free space, so LMDB notices a full disk itself.
      return undefined;
    }
  }

  /**
   * Whether there is enough space for `task`, in addition to the tasks taken before. If so, takes
   * the task. `spares`: whether the transaction must then also leave spare free pages.
   */
  take(task: Task, spares: boolean): boolean {
    const { pageSize } = this.#state;
    const need = { ...this.#taken };
    // LMDB does not write the spare pages, but it may allocate them at the file's end and give them
    // to other values.
    if (spares && !this.#hasSpares) addRow(need, Math.ceil(spareBytes / pageSize) + 1);
    let kept = task.type === "fill" ? this.#addFill(need, task.batch.cells) : 0;
    for (const { table, row, mutations } of rowsOf(task)) {
      for (const mutation of mutations) {
        need.single += pagesOfCell;
        if (mutation.type === "delete") continue;
        if (!GuardCache.covers(table)) kept = Math.max(kept, keptBefore(mutation.value));
        const bytes = (row.length + mutation.column.length + mutation.value.length) * entryFactor;
        if (bytes <= longPart * pageSize) continue;
        addRow(need, Math.ceil(bytes / pageSize) + 1);
      }
    }
    if (!this.#has(need, kept)) return false;
    this.#taken = need;
    this.#hasSpares ||= spares;
    return true;
  }

  refusal(): StoreFullError {
    return new StoreFullError(
      `The database in ${dirname(this.#dataFile)} could not write: its disk has only ${Math.floor(this.#freeBytes / 1024)} KiB left. ` +
        "Nothing was changed. Free space and try again.",
    );
  }

  /**
   * Adds the pages of a filled range. Its cells are next to each other, so they share pages, which
   * may stay half empty. Returns the pages that it must leave.
   */
  #addFill(need: Need, cells: CellBlock): number {
    const { pageSize } = this.#state;
    const cursor = new CellCursor(cells);
    let bytes = 0;
    while (cursor.next()) {
      const { rowStart, rowEnd, columnStart, recordEnd } = cursor;
      const size = (rowEnd - rowStart + recordEnd - columnStart + bytesOfFilledCell) * entryFactor;
      if (size <= longPart * pageSize) bytes += size;
      else {
        need.single += pagesOfCell;
        addRow(need, Math.ceil(size / pageSize) + 1);
      }
    }
    need.single += pagesOfCell + (2 * bytes) / pageSize;
    return pagesForMakingRoom + pagesForShort;
  }

  #has(need: Need, kept: number): boolean {
    const { pageSize, lastPage } = this.#state;
    const all = Math.ceil(need.single) + need.inRow + kept;
    if (all * pageSize + leftBytes <= this.#freeBytes) return true;
    return this.#open((file) => {
      lengthen(file, this.#state, all);
      const end = (lastPage + 1) * pageSize;
      const { size, blocks } = fstatSync(file);
      const spare = Math.max(0, Math.floor((size - end) / pageSize));
      if (spare >= all) return true;
      // Pages that were never written are holes or after the file's end. Writing one takes a new
      // block.
      const holes = Math.max(0, Math.ceil((Math.max(size, end) - blocks * 512) / pageSize));
      const data = new DataFile(file, size);
      this.#freePages ??= data.freePages(data.newest(), this.#oldestReader());
      const { pages, rows, longLists } = this.#freePages;
      if (pages < all - spare + holes) return false;
      // A free list on one page needs no run of pages.
      const listsInRow = longLists.filter((count) => count > 1);
      const inRow = need.inRow + listsInRow.reduce((sum, count) => sum + count, 0);
      if (inRow <= spare) return true;
      const longest = Math.max(need.longest, ...listsInRow);
      const divided = Math.ceil(need.single / longest) + holes + dividedRows;
      const fitting = rows.reduce((sum, count) => sum + Math.floor(count / longest), 0);
      return fitting >= need.rows + listsInRow.length + divided;
    });
  }

  #open<Result>(use: (file: number, state: Meta) => Result): Result {
    const file = openSync(this.#dataFile, "r+");
    try {
      return use(file, new DataFile(file, fstatSync(file).size).newest());
    } finally {
      closeSync(file);
    }
  }
}

/** The pages that a transaction writes. */
interface Need {
  single: number;
  /** Number of pages in all runs together. */
  inRow: number;
  /** Number of runs of consecutive pages. */
  rows: number;
  /** Number of pages of the longest run. */
  longest: number;
}

function addRow(need: Need, pages: number): void {
  need.inRow += pages;
  need.rows += rowsOfValue;
  need.longest = Math.max(need.longest, pages);
}

function keptBefore(value: Uint8Array): number {
  return value.length > shortBytes ? pagesForMakingRoom + pagesForShort : pagesForMakingRoom;
}

function rowsOf(task: Task): readonly RowMutation[] {
  if (task.type === "next" || task.type === "fill") return [];
  return task.type === "mutate" ? [task.mutation] : task.batch.rows;
}

/**
 * Writes zeros at the file's end until `pages` and some more follow LMDB's last page, or until the
 * disk is full.
 */
function lengthen(file: number, { lastPage, pageSize }: Meta, pages: number): void {
  const needed = (lastPage + 1 + pages) * pageSize;
  let { size } = fstatSync(file);
  if (size >= needed) return;
  try {
    while (size < needed + stepBytes) {
      const count = Math.min(zeros.length, needed + stepBytes - size);
      size += writeSync(file, zeros, 0, count, size);
    }
  } catch (error) {
    if (!(error instanceof Error && "code" in error && noSpace.has(error.code))) throw error;
  }
}
