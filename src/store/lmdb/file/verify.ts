import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { type Environment, eventLoopTurn, throwIfAborted } from "../../../environment/index.js";
import { StoreDamagedError } from "../../../errors/index.js";
import { PageSet } from "../../page-set.js";
import type { StoreDamage, VerifyOptions } from "../../row-store.js";
import { keySum } from "../record/checksum.js";
import { type Databases, databaseNames } from "../record/databases.js";
import { cellOfKey, longestEncodedKey } from "../record/key.js";
import { openEntry } from "../record/layout.js";
import { contentLength } from "../record/seal.js";
import { readCounter } from "../record/state.js";
import { dataFileName } from "./folder.js";
import {
  DataFile,
  isLong,
  type Meta,
  type Node,
  type Page,
  PageError,
  readsPages,
  type Tree,
} from "./pages.js";

/** How many pages to verify before the event loop gets a turn: a few milliseconds of work. */
const pagesAtOnce = 64;
/** The verification stops after this many problems. A person would not read more. */
const maxDamage = 1_000;
/** Deeper than any tree of 2^64 bytes. */
const deepest = 40;

/**
 * Verifies every page of the newest state and every record in it, with plain reads of the file.
 * LMDB itself could end the process over a damaged page. The verification finds:
 *
 * - pages that differ from their parent page's description,
 * - keys out of order, or outside the bounds of their page, which a scan would find but a get would
 *   not,
 * - trees whose description has a wrong number of pages or entries,
 * - records with a wrong checksum.
 *
 * A read transaction keeps the pages of the state in place, so the database may be in use.
 */
export async function verifyFolder(
  path: string,
  databases: Databases,
  environment: Environment,
  options: VerifyOptions,
): Promise<readonly StoreDamage[]> {
  if (!readsPages) return [];
  databases.root.resetReadTxn();
  const pin = databases.root.useReadTransaction();
  try {
    readCounter(databases);
    const file = openSync(join(path, dataFileName), "r");
    try {
      return await new Verification(file, environment, options).run();
    } finally {
      closeSync(file);
    }
  } finally {
    pin.done();
  }
}

/** What the verification counts in a tree, to compare with the tree's description. */
interface Count {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

type Keys = "cells" | "versions" | "protocol" | "names" | "numbers" | "meta";

class Verification {
  readonly #descriptor: number;
  readonly #environment: Environment;
  readonly #options: VerifyOptions;
  readonly #found: StoreDamage[] = [];
  #file!: DataFile;
  #meta!: Meta;
  #used!: PageSet;
  #records = 0;
  #pages = 0;

  constructor(descriptor: number, environment: Environment, options: VerifyOptions) {
    this.#descriptor = descriptor;
    this.#environment = environment;
    this.#options = options;
  }

  async run(): Promise<readonly StoreDamage[]> {
    try {
      const head = new DataFile(this.#descriptor, 0);
      const { flushed } = head.metas();
      this.#meta = head.newest();
      // A commit of another process before this may have made the file longer.
      this.#file = new DataFile(this.#descriptor, fstatSync(this.#descriptor).size);
      this.#file.pageSize = head.pageSize;
      // If the last page is damaged, it may be far beyond the file's end.
      const { size, pageSize } = this.#file;
      this.#used = new PageSet(Math.min(this.#meta.lastPage + 1, size / pageSize));
      if (flushed !== undefined && flushed.transaction > this.#meta.transaction) {
        this.#say(
          `The last flushed state, ${flushed.transaction}, is newer than the newest state, ${this.#meta.transaction}.`,
        );
      }
      await this.#checkTree("LMDB's list of free pages", this.#meta.free, "numbers");
      await this.#checkTree("LMDB's list of databases", this.#meta.main, "names");
      if (this.#found.length > 0) return this.#found;
      const trees = this.#file.trees(this.#meta);
      for (const name of [...databaseNames, "meta"] as const) {
        const tree = trees.get(name);
        if (tree === undefined) this.#say(`The database ${name} is missing.`);
        else await this.#checkTree(name, tree, name);
      }
    } catch (error) {
      this.#fail(error, "The file");
    }
    return this.#found;
  }

  async #checkTree(name: string, tree: Tree, keys: Keys): Promise<void> {
    const count: Count = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    const before = this.#found.length;
    if (tree.root !== undefined) {
      await this.#checkPage(
        name,
        tree.root,
        1,
        tree.depth,
        this.#meta.transaction,
        keys,
        count,
        undefined,
        undefined,
      );
    }
    // The damage that was just found would explain a wrong count.
    if (this.#found.length > before) return;
    for (const what of ["entries", "branchPages", "leafPages", "overflowPages"] as const) {
      if (count[what] !== tree[what]) {
        this.#say(`${name} has ${count[what]} ${what}, but its description says ${tree[what]}.`);
      }
    }
  }

  /**
   * `low` (inclusive) and `high` (exclusive) are the bounds that the pages above set for the keys
   * of this page.
   */
  async #checkPage(
    name: string,
    number: number,
    level: number,
    depth: number,
    writtenBy: number,
    keys: Keys,
    count: Count,
    low: Buffer | undefined,
    high: Buffer | undefined,
  ): Promise<void> {
    if (++this.#pages % pagesAtOnce === 0) {
      await this.#options.onProgress?.(this.#records);
      await eventLoopTurn(this.#environment);
      throwIfAborted(this.#options.signal, "The check");
    }
    if (this.#found.length >= maxDamage) return;
    let page: Page;
    try {
      this.#take(number, 1);
      page = this.#file.page(number);
      if (page.transaction > writtenBy)
        throw new PageError("damage", `page ${number} is newer than the page that refers to it`);
      if (page.branch !== level < depth || level > deepest) {
        throw new PageError("damage", `page ${number} is on the wrong level`);
      }
      checkOrder(page, number, keys, low, high);
    } catch (error) {
      this.#fail(error, name);
      return;
    }
    if (!page.branch) {
      count.leafPages++;
      for (const node of page.nodes) this.#checkNode(name, node, keys, count);
      return;
    }
    count.branchPages++;
    for (const [i, node] of page.nodes.entries()) {
      const from = i === 0 ? low : node.key;
      const to = page.nodes[i + 1]?.key ?? high;
      await this.#checkPage(name, node.child, level + 1, depth, page.transaction, keys, count, from, to);
    }
  }

  #checkNode(name: string, node: Node, keys: Keys, count: Count): void {
    count.entries++;
    this.#records++;
    try {
      let record = node.data;
      if (isLong(node)) {
        const pages = this.#file.longPages(node);
        this.#take(pages.first, pages.count);
        record = this.#file.longValue(node);
        count.overflowPages += pages.count;
      }
      if (keys === "numbers" || keys === "names" || (keys === "meta" && String(node.key) !== "state")) return;
      const sum = keySum(node.key, 0, node.key.length);
      if (keys === "cells") openEntry(record, record.length, sum);
      else contentLength(record, record.length, sum);
    } catch (error) {
      if (keys === "numbers" || keys === "names" || keys === "meta") this.#fail(error, name);
      else this.#fail(error, name, node.key);
    }
  }

  /** Marks pages as used. A page that is used twice is damage. */
  #take(first: number, count: number): void {
    for (let page = first; page < first + count; page++) {
      if (page < 2 || page > this.#meta.lastPage)
        throw new PageError("damage", `page ${page} is beyond the file's end`);
      if (this.#used.has(page)) throw new PageError("damage", `page ${page} is used twice`);
      this.#used.add(page);
    }
  }

  #fail(error: unknown, what: string, key?: Buffer): void {
    if (!(error instanceof PageError || error instanceof StoreDamagedError)) throw error;
    this.#say(`${what}: ${error.message}`, key === undefined ? undefined : cellOfKey(key));
  }

  #say(message: string, cell?: StoreDamage["cell"]): void {
    if (this.#found.length < maxDamage) this.#found.push({ message, cell });
  }
}

/** Checks that keys ascend, and are within the bounds that the pages above set. */
function checkOrder(
  page: Page,
  number: number,
  keys: Keys,
  low: Buffer | undefined,
  high: Buffer | undefined,
): void {
  const { nodes, branch } = page;
  if (nodes.length === 0) throw new PageError("damage", `page ${number} is empty`);
  let before = low;
  for (const [i, { key }] of nodes.entries()) {
    // A branch's first key is empty: it stands for everything below the second key.
    if (branch && i === 0) continue;
    if (key.length === 0 || key.length > longestEncodedKey) {
      throw new PageError("damage", `page ${number} has a key of ${key.length} bytes`);
    }
    const order = before === undefined ? 1 : compare(key, before, keys);
    if (order < 0 || (order === 0 && i > (branch ? 1 : 0))) {
      throw new PageError("damage", `page ${number} has keys that do not ascend`);
    }
    before = key;
  }
  if (high !== undefined && before !== undefined && compare(before, high, keys) >= 0) {
    throw new PageError("damage", `page ${number} has keys of the page after it`);
  }
}

/** The keys of LMDB's free list are numbers. */
function compare(a: Buffer, b: Buffer, keys: Keys): number {
  if (keys !== "numbers") return Buffer.compare(a, b);
  if (a.length !== 8 || b.length !== 8) throw new PageError("damage", "a key is not a number");
  return Number(a.readBigUInt64LE(0) - b.readBigUInt64LE(0));
}
