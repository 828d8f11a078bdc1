import { closeSync, fstatSync, openSync, statfsSync, writeSync } from "node:fs";
import { arch, endianness } from "node:os";
import { dirname } from "node:path";
import { StoreFullError } from "../../../errors/index.js";
import type { RowMutation } from "../../mutation.js";
import { DataFile, type FreePages, type Meta } from "../file/pages.js";
import { spareBytes } from "../record/state.js";
import { GuardCache } from "./guard-cache.js";
import type { Task } from "./request.js";

/** With so much free nothing is counted: one transaction does not write as much. */
const plentyBytes = 1024 ** 3;
/** Left to others on the disk: what they take while LMDB writes would be missing to it. */
const leftBytes = 4 * 1024 ** 2;
/**
 * The file is made longer by so much more than is needed, if there is as much: not at each
 * transaction.
 */
const stepBytes = 1024 ** 2;
const zeros = Buffer.alloc(64 * 1024);

/**
 * What a transaction changes besides its cells: the counter, the roots of the trees, the ways down
 * to them.
 */
const pagesOfTransaction = 24;
/**
 * The last pages are kept for collection and for the ends of sessions, those before them for short
 * values and deleted cells.
 */
const pagesForMakingRoom = 32;
const pagesForShort = 32;
const shortBytes = 256;
/** What a cell changes at most, mostly: its page, one that is split off, a part of those above. */
const pagesOfCell = 2.5;
/** Beside a value stand the cell's older records. */
const entryFactor = 1.25;
/** From this part of a page on a value may get pages of its own, in a row. */
const longPart = 0.25;
/** The value that a long one replaces may be moved, to as many pages. */
const rowsOfValue = 2;
/**
 * LMDB divides rows of free pages that others would have fitted better: so many at most, mostly.
 */
const dividedRows = 4;

/** Whether the file's pages can be read here. */
const isReadable = endianness() === "LE" && arch() !== "arm" && arch() !== "ia32";
const noSpace: ReadonlySet<unknown> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/**
 * Room on the disk for what one of LMDB's transactions writes, found before LMDB needs it.
 *
 * LMDB learns that a disk is full from a write that fails, and says so on the standard error
 * stream, past Node. So with little space left the file is made longer beforehand, by zeros behind
 * LMDB's last page: what LMDB then writes has its blocks. A task for which that does not go, and
 * which the file's free pages cannot hold either, is refused, and LMDB does not hear of it.
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
      // Others may fill the disk: then it is too late.
      lengthen(file, state, pagesForMakingRoom + pagesForShort + pagesOfTransaction);
      return state;
    });
    const { branchPages, leafPages, overflowPages } = this.#state.free;
    // A transaction rewrites parts of the list of free pages.
    const single = pagesOfTransaction + branchPages + leafPages + overflowPages;
    this.#taken = { single, inRow: 0, rows: 0, longest: 0 };
  }

  /**
   * To be called with LMDB's write lock in hand, as a transaction begins. Undefined if there is
   * plenty, and on systems that do not tell. `oldestReader`: the oldest of LMDB's transactions that
   * somebody reads; Infinity for none.
   */
  static begin(dataFile: string, oldestReader: () => number): Room | undefined {
    try {
      const { bavail, bsize } = statfsSync(dataFile);
      if (bavail * bsize >= plentyBytes || !isReadable) return undefined;
      return new Room(dataFile, bavail * bsize, oldestReader);
    } catch {
      // LMDB finds out by itself.
      return undefined;
    }
  }

  /**
   * Whether `task` has room, beside those that were taken before. If so, it is taken. `spares`:
   * free pages are left with it.
   */
  take(task: Task, spares: boolean): boolean {
    const { pageSize } = this.#state;
    const need = { ...this.#taken };
    // They are not written, but LMDB may find them at the file's end, and give them to others.
    if (spares && !this.#hasSpares) addRow(need, Math.ceil(spareBytes / pageSize) + 1);
    let kept = 0;
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
      `The database in ${dirname(this.#dataFile)} could not write: its disk has ${Math.floor(this.#freeBytes / 1024)} KiB left, and more is ` +
        "needed. Nothing was changed. Free space and try again.",
    );
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
      // Pages that were never written are holes, or behind the file's end: to write one takes a
      // block.
      const holes = Math.max(0, Math.ceil((Math.max(size, end) - blocks * 512) / pageSize));
      const data = new DataFile(file, size);
      this.#freePages ??= data.freePages(data.newest(), this.#oldestReader());
      const { pages, rows, longLists } = this.#freePages;
      if (pages < all - spare + holes) return false;
      // A list on one page needs no row.
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

/** Pages that a transaction writes. */
interface Need {
  single: number;
  /** All those of {@link rows}. */
  inRow: number;
  /** Rows of pages that follow each other. */
  rows: number;
  /** Pages of the longest row. */
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
  if (task.type === "next") return [];
  return task.type === "mutate" ? [task.mutation] : task.batch.rows;
}

/**
 * Writes zeros to the file's end until `pages` and some more are behind LMDB's last one, or the
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
