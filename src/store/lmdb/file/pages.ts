import { readSync } from "node:fs";
import { arch, endianness } from "node:os";

/**
 * Reads the pages of LMDB's data file from disk (data version 2, 64 bits, little-endian). It has
 * three uses. Opening a folder checks whether the file can be valid, since LMDB ends the process over
 * some damaged pages. Split points come from the upper pages of a tree. Backups copy pages.
 */
const magic = 0xbeefc0de;
const dataVersion = 2;
const pageHeader = 24;
const nodeHeader = 8;
const databaseRecord = 48;
const metaBytes = 144;
const unflushedFlag = 0x1000;
const branchFlag = 1;
const leafFlag = 2;
const overflowFlag = 4;
const metaFlag = 8;
const bigDataFlag = 1;
const subDataFlag = 2;
const noPage = 0xffff_ffff_ffff_ffffn;

/**
 * The part of a state's description that is copied when the state is recorded as flushed: where it
 * starts and ends, where its flags are, and the flag that means unflushed.
 */
export const metaRecord = Object.freeze({
  start: pageHeader + 16,
  end: pageHeader + metaBytes,
  flagsAt: pageHeader + 28,
  unflushed: unflushedFlag,
});

/** Whether the data file of this machine has the format that this code reads. */
export const readsPages = endianness() === "LE" && arch() !== "arm" && arch() !== "ia32";

/** One of LMDB's trees. `root` is undefined if it is empty. */
export interface Tree {
  /** Number of levels of pages. 0 if the tree is empty. */
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: number | undefined;
}

/** One state of the file. */
export interface Meta {
  readonly pageSize: number;
  readonly lastPage: number;
  readonly transaction: number;
  /** Whether its pages were flushed before this description was written. */
  readonly flushed: boolean;
  /** The boot number of the machine when it was written. 0 if the system has none. */
  readonly boot: bigint;
  readonly free: Tree;
  readonly main: Tree;
}

/** One node of a page. */
export interface Node {
  readonly key: Buffer;
  /** In a branch page, the number of the page below. */
  readonly child: number;
  readonly flags: number;
  /** The value. For a {@link isLong} node, the location of the value's pages. */
  readonly data: Buffer;
  /** Size of the value in bytes. */
  readonly size: number;
}

/** Whether the value is on separate pages. */
export function isLong(node: Node): boolean {
  return (node.flags & bigDataFlag) !== 0;
}

/** The number of the transaction that wrote the pages of a {@link isLong} node's value. */
export function longWrittenBy(node: Node): number {
  return Number(node.data.readBigUInt64LE(8));
}

export interface Page {
  readonly branch: boolean;
  /** The transaction that wrote it. */
  readonly transaction: number;
  readonly nodes: readonly Node[];
  /** The whole page. */
  readonly bytes: Buffer;
}

interface Block {
  readonly first: number;
  readonly count: number;
}

/** The free pages of a file. */
export interface FreePages {
  readonly pages: number;
  /** The length of each run of consecutive free pages. */
  readonly rows: readonly number[];
  /** For each free list on separate pages, the number of its pages. */
  readonly longLists: readonly number[];
}

/** Damage or an unknown format in a file. `reason` says which. */
export class PageError extends Error {
  readonly reason: "format" | "version" | "damage";

  constructor(reason: PageError["reason"], message: string) {
    super(message);
    this.reason = reason;
  }
}

function damage(message: string): PageError {
  return new PageError("damage", message);
}

/** The states that a file holds: the two between which LMDB alternates, and the last flushed one. */
interface Metas {
  readonly pair: readonly [Meta, Meta];
  readonly flushed: Meta | undefined;
}

function newestOf([first, second]: Metas["pair"]): Meta {
  return first.transaction >= second.transaction ? first : second;
}

function beginningOf({ pair, flushed }: Metas, boot: bigint): Meta {
  const kept = (meta: Meta) => meta.flushed || (meta.boot !== 0n && meta.boot === boot);
  const pick = (a: Meta, b: Meta) => {
    const [newer, older] = a.transaction >= b.transaction ? [a, b] : [b, a];
    return b.transaction === 0 || kept(newer) ? newer : older;
  };
  const picked = pick(...pair);
  return flushed === undefined ? picked : pick(picked, flushed);
}

/** An open data file. */
export class DataFile {
  readonly #file: number;
  readonly size: number;
  pageSize = 0;

  constructor(file: number, size: number) {
    this.#file = file;
    this.size = size;
  }

  metas(): Metas {
    const first = this.#meta(0);
    this.pageSize = first.pageSize;
    const second = this.#meta(this.pageSize);
    // The description of the flushed state lacks the magic number, and holds only what follows it.
    const copy = this.#read(this.pageSize >> 1, pageHeader + metaBytes);
    const flushed = copy.readBigUInt64LE(pageHeader + 128) === 0n ? undefined : this.#parse(copy);
    return { pair: [first, second], flushed };
  }

  /** The newest state. */
  newest(): Meta {
    return newestOf(this.metas().pair);
  }

  /**
   * The state with which LMDB begins if no other process has the file open. It is the newest state,
   * if that state was flushed, or if the machine has not restarted since (`boot` is the machine's
   * boot number). Otherwise it is the last flushed state.
   */
  beginning(boot: bigint): Meta {
    return beginningOf(this.metas(), boot);
  }

  /**
   * Whether LMDB would begin with an older state than the newest one, because the machine has restarted since
   * (`boot` is the machine's boot number). One look at the states decides, since another process may commit
   * meanwhile.
   */
  goesBack(boot: bigint): boolean {
    const metas = this.metas();
    const newest = newestOf(metas.pair);
    return newest.boot !== 0n && beginningOf(metas, boot).transaction < newest.transaction;
  }

  /** The number of the transaction that wrote a page. */
  transactionOf(number: number): number {
    return Number(this.#read(number * this.pageSize, 16).readBigUInt64LE(8));
  }

  /** The bytes of consecutive pages. */
  bytes(first: number, count: number): Buffer {
    return this.#read(first * this.pageSize, count * this.pageSize);
  }

  /**
   * The first two pages of a file whose only state is the one in `slot`. They describe it as
   * flushed, so the file must be flushed before it is used.
   */
  headPages(slot: 0 | 1): Buffer {
    const pages = this.bytes(0, 2);
    const from = slot * this.pageSize + metaRecord.start;
    const state = Buffer.from(pages.subarray(from, from + metaRecord.end - metaRecord.start));
    const flagsAt = metaRecord.flagsAt - metaRecord.start;
    state.writeUInt16LE(state.readUInt16LE(flagsAt) & ~metaRecord.unflushed, flagsAt);
    for (const at of [0, this.pageSize >> 1, this.pageSize]) state.copy(pages, at + metaRecord.start);
    return pages;
  }

  page(number: number): Page {
    const bytes = this.#read(number * this.pageSize, this.pageSize);
    if (Number(bytes.readBigUInt64LE(0)) !== number) throw damage(`page ${number} has another number`);
    const flags = bytes.readUInt16LE(18);
    const lower = bytes.readUInt16LE(20);
    const upper = bytes.readUInt16LE(22);
    const branch = (flags & branchFlag) !== 0;
    if (branch === ((flags & leafFlag) !== 0)) throw damage(`page ${number} is not a page of a tree`);
    if (lower > upper || upper > this.pageSize - pageHeader || lower % 2 !== 0) {
      throw damage(`page ${number} has impossible bounds`);
    }
    const nodes: Node[] = [];
    for (let i = 0; i < lower / 2; i++) nodes.push(this.#node(bytes, number, i, branch));
    return { branch, transaction: Number(bytes.readBigUInt64LE(8)), nodes, bytes };
  }

  /**
   * The pages of a {@link isLong} node's value. There may be more pages than the value needs: if a
   * value becomes shorter within the transaction that wrote it, LMDB keeps all of its pages.
   */
  longPages(node: Node): { readonly first: number; readonly count: number } {
    const first = Number(node.data.readBigUInt64LE(0));
    const count = Number(node.data.readBigUInt64LE(16));
    if (count * this.pageSize < pageHeader + node.size) {
      throw damage(`a value of ${node.size} bytes is on pages that cannot hold it`);
    }
    if (first + count > this.#pages) throw damage(`a value's page ${first + count} is beyond the file's end`);
    const header = this.#read(first * this.pageSize, pageHeader);
    const isOwn =
      Number(header.readBigUInt64LE(0)) === first &&
      header.readBigUInt64LE(8) === node.data.readBigUInt64LE(8) &&
      (header.readUInt16LE(18) & overflowFlag) !== 0 &&
      header.readUInt32LE(20) === count;
    if (!isOwn) throw damage(`page ${first} is not the first of a value of ${node.size} bytes`);
    return { first, count };
  }

  /** The value of a {@link isLong} node. */
  longValue(node: Node): Buffer {
    return this.#read(Number(node.data.readBigUInt64LE(0)) * this.pageSize + pageHeader, node.size);
  }

  /** The named databases of `meta`. */
  trees(meta: Meta): Map<string, Tree> {
    const trees = new Map<string, Tree>();
    const visit = (number: number, depth: number) => {
      const page = this.page(number);
      for (const node of page.nodes) {
        if (page.branch) {
          if (depth > 30) throw damage("the main tree has no end");
          visit(node.child, depth + 1);
        } else if ((node.flags & subDataFlag) !== 0 && node.data.length >= databaseRecord) {
          // LMDB stores the name with a NUL at its end.
          trees.set(node.key.toString().replace(/\0$/, ""), parseTree(node.data, 0));
        }
      }
    };
    if (meta.main.root !== undefined) visit(meta.main.root, 0);
    return trees;
  }

  /**
   * The free pages of `meta` that LMDB may use while its oldest reader reads the transaction
   * `reader`.
   */
  freePages(meta: Meta, reader: number): FreePages {
    const before = Math.min(reader, meta.transaction);
    const blocks: Block[] = [];
    const longLists: number[] = [];
    const visit = (number: number) => {
      const page = this.page(number);
      for (const node of page.nodes) {
        if (page.branch) {
          visit(node.child);
          continue;
        }
        if (isLong(node)) longLists.push(this.longPages(node).count);
        if (Number(node.key.readBigUInt64LE(0)) < before) {
          addBlocks(blocks, isLong(node) ? this.longValue(node) : node.data);
        }
      }
    };
    if (meta.free.root !== undefined) visit(meta.free.root);
    return { pages: blocks.reduce((sum, { count }) => sum + count, 0), rows: rowsOf(blocks), longLists };
  }

  /**
   * Checks the upper `levels` of a tree. Throws a {@link PageError} if a page is invalid. `least`: the
   * fewest pages below a page with which LMDB reads on. Only the tree of free pages may have 1.
   */
  check(tree: Tree, levels: number, least = 2): void {
    if (tree.root === undefined) return;
    const pages = this.#pages;
    const visit = (number: number, left: number, level: number) => {
      const page = this.page(number);
      if (page.branch !== level < tree.depth) throw damage(`page ${number} is on the wrong level`);
      if (page.branch && page.nodes.length < least) {
        throw damage(`page ${number} has ${page.nodes.length} pages below it`);
      }
      for (const node of page.nodes) {
        if (page.branch) {
          if (node.child < 2 || node.child >= pages)
            throw damage(`page ${node.child} is beyond the file's end`);
          if (left > 0) visit(node.child, left - 1, level + 1);
        } else if ((node.flags & bigDataFlag) !== 0 && node.data.length >= 24) {
          const last = Number(node.data.readBigUInt64LE(0)) + Number(node.data.readBigUInt64LE(16));
          if (last > pages) throw damage(`a value's page ${last} is beyond the file's end`);
        }
      }
    };
    visit(tree.root, levels, 1);
  }

  get #pages(): number {
    return Math.floor(this.size / this.pageSize);
  }

  #meta(offset: number): Meta {
    const bytes = this.#read(offset, pageHeader + metaBytes);
    if (bytes.readUInt32LE(pageHeader) !== magic) throw new PageError("format", "it is not a file of LMDB");
    const version = bytes.readUInt32LE(pageHeader + 4) & 0xffff;
    if (version !== dataVersion) throw new PageError("version", `its data version is ${version}`);
    if ((bytes.readUInt16LE(18) & metaFlag) === 0) throw damage(`the page at ${offset} describes no state`);
    return this.#parse(bytes);
  }

  #parse(bytes: Buffer): Meta {
    const pageSize = bytes.readUInt32LE(pageHeader + 24);
    if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0) {
      throw damage(`its page size cannot be ${pageSize}`);
    }
    return {
      pageSize,
      free: parseTree(bytes, pageHeader + 24),
      main: parseTree(bytes, pageHeader + 24 + databaseRecord),
      lastPage: Number(bytes.readBigUInt64LE(pageHeader + 120)),
      transaction: Number(bytes.readBigUInt64LE(pageHeader + 128)),
      flushed: (bytes.readUInt16LE(pageHeader + 28) & unflushedFlag) === 0,
      boot: bytes.readBigInt64LE(pageHeader + 136),
    };
  }

  #node(bytes: Buffer, page: number, index: number, branch: boolean): Node {
    const offset = bytes.readUInt16LE(pageHeader + 2 * index);
    const at = pageHeader + offset;
    if (offset < bytes.readUInt16LE(22) || at + nodeHeader > bytes.length)
      throw damage(`page ${page} has a node outside itself`);
    const low = bytes.readUInt32LE(at);
    const flags = bytes.readUInt16LE(at + 4);
    const keyEnd = at + nodeHeader + bytes.readUInt16LE(at + 6);
    const inPage = branch ? 0 : (flags & bigDataFlag) !== 0 ? 24 : low;
    if (keyEnd + inPage > bytes.length) throw damage(`page ${page} has a node that is cut off`);
    return {
      key: bytes.subarray(at + nodeHeader, keyEnd),
      child: branch ? low + flags * 0x1_0000_0000 : 0,
      flags: branch ? 0 : flags,
      data: bytes.subarray(keyEnd, keyEnd + inPage),
      size: branch ? 0 : low,
    };
  }

  #read(offset: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafe(length);
    let read = 0;
    while (read < length) {
      const count = readSync(this.#file, bytes, read, length - read, offset + read);
      if (count === 0) throw damage(`it ends at byte ${offset + read}, before a page that it refers to`);
      read += count;
    }
    return bytes;
  }
}

/**
 * A free list begins with its length. A negative number -n in the list stands for a block of n
 * pages, and the number after it is the block's first page.
 */
function addBlocks(blocks: Block[], list: Buffer): void {
  for (let i = 1; i <= Number(list.readBigInt64LE(0)); i++) {
    const number = Number(list.readBigInt64LE(8 * i));
    if (number > 0) blocks.push({ first: number, count: 1 });
    else if (number < 0) blocks.push({ first: Number(list.readBigInt64LE(8 * ++i)), count: -number });
  }
}

/** Joins blocks that touch into runs, as LMDB does once it has read their lists. */
function rowsOf(blocks: readonly Block[]): number[] {
  const rows: number[] = [];
  let end: number | undefined;
  for (const { first, count } of [...blocks].sort((a, b) => a.first - b.first)) {
    if (first === end) rows[rows.length - 1]! += count;
    else rows.push(count);
    end = first + count;
  }
  return rows;
}

function parseTree(bytes: Buffer, at: number): Tree {
  const root = bytes.readBigUInt64LE(at + 40);
  return {
    depth: bytes.readUInt16LE(at + 6),
    branchPages: Number(bytes.readBigUInt64LE(at + 8)),
    leafPages: Number(bytes.readBigUInt64LE(at + 16)),
    overflowPages: Number(bytes.readBigUInt64LE(at + 24)),
    entries: Number(bytes.readBigUInt64LE(at + 32)),
    root: root === noPage ? undefined : Number(root),
  };
}
