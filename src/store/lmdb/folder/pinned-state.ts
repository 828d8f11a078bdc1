import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { StoreDamagedError, StoreError } from "../../../errors/index.js";
import type { PageRun, PinnedState } from "../../page-store.js";
import { fillFolder, type RecordEntry } from "../file/filling.js";
import { flushThrough } from "../file/flushes.js";
import { dataFileName } from "../file/folder.js";
import {
  DataFile,
  isLong,
  longWrittenBy,
  type Meta,
  type Page,
  PageError,
  type Tree,
} from "../file/pages.js";
import { storeError } from "../record/errors.js";
import { readState } from "../record/state.js";
import type { SharedFolder } from "./shared-folder.js";

/** How often to pin again if another process commits between the steps. */
const maxAttempts = 1_000;
/** A value of 10 MB is read in pieces of 1 MiB. */
const longPagesAtOnce = 256;
/** Deeper than any tree of 2^64 bytes. */
const deepest = 40;

/**
 * Pins the newest state of the folder. A read transaction of LMDB keeps its pages in place, and the
 * pages are read from the file, without LMDB.
 */
export function pinState(shared: SharedFolder): PinnedState {
  const { root } = shared.databases;
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    root.resetReadTxn();
    const transaction = root.lastTransaction();
    const pin = root.useReadTransaction();
    let file: number | undefined;
    try {
      const { counter, writer, group } = readState(shared.databases);
      file = openSync(join(shared.path, dataFileName), "r");
      const data = new DataFile(file, fstatSync(file).size);
      const { pair } = data.metas();
      const slot = pair[0].transaction === transaction ? 0 : 1;
      // Two commits later, LMDB overwrites the description of this state. The pages remain.
      if (root.lastTransaction() === transaction && pair[slot].transaction === transaction) {
        const head = data.headPages(slot);
        if (root.lastTransaction() <= transaction + 1) {
          const identity = `${transaction}/${counter}/${writer}/${group}`;
          return new State(shared, file, data, pair[slot], head, counter, identity, () => pin.done());
        }
      }
    } catch (error) {
      pin.done();
      if (file !== undefined) closeSync(file);
      throw error instanceof PageError ? damaged(shared.path, error) : error;
    }
    pin.done();
    closeSync(file);
  }
  throw new StoreError(
    `The database in ${shared.path} could not be copied, because other processes commit all the time. Try again.`,
    { retryable: true },
  );
}

function damaged(path: string, cause: PageError): StoreDamagedError {
  return new StoreDamagedError(
    `The database in ${path} could not be copied, because it is damaged: ${cause.message}. Run \`percolator check\`, and restore a backup.`,
    { cause },
  );
}

class State implements PinnedState {
  readonly fileName = dataFileName;
  readonly pageSize: number;
  readonly pageCount: number;
  readonly transaction: number;
  readonly counter: number;
  readonly identity: string;
  readonly #shared: SharedFolder;
  readonly #file: number;
  readonly #data: DataFile;
  readonly #meta: Meta;
  readonly #head: Buffer;
  readonly #unpin: () => void;
  #released = false;

  constructor(
    shared: SharedFolder,
    file: number,
    data: DataFile,
    meta: Meta,
    head: Buffer,
    counter: number,
    identity: string,
    unpin: () => void,
  ) {
    this.#shared = shared;
    this.#file = file;
    this.#data = data;
    this.#meta = meta;
    this.#head = head;
    this.#unpin = unpin;
    this.counter = counter;
    this.identity = identity;
    this.pageSize = meta.pageSize;
    this.pageCount = meta.lastPage + 1;
    this.transaction = meta.transaction;
  }

  *pages(after: number): Generator<PageRun, void, undefined> {
    yield { first: 0, bytes: this.#head };
    try {
      const { free, main } = this.#meta;
      for (const tree of [free, main, ...this.#data.trees(this.#meta).values()])
        yield* this.#tree(tree, after);
    } catch (error) {
      if (!(error instanceof PageError)) throw error;
      // If this reader has no lock, the pages may have been overwritten.
      this.#shared.checkUnchanged();
      throw damaged(this.#shared.path, error);
    }
  }

  async flush(): Promise<void> {
    const { flushes, environment, path } = this.#shared;
    if (flushes !== undefined && (await flushThrough(flushes, this.transaction, environment))) return;
    throw new StoreError(`The newest commits of the database in ${path} could not be flushed. Try again.`, {
      retryable: true,
    });
  }

  get records(): number {
    return this.#trees().reduce((sum, [, { entries }]) => sum + entries, 0);
  }

  async compactInto(folder: string, between: (records: number) => Promise<void>): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    const pause = (records: number) =>
      between(records).catch((error: unknown) => {
        failure = { error };
        throw error;
      });
    try {
      const trees = this.#trees().map(([name, tree]) => [name, this.#entries(name, tree)] as const);
      await fillFolder(folder, trees, pause);
    } catch (error) {
      // The caller's own failure is none of the store.
      if (failure !== undefined) throw failure.error;
      if (!(error instanceof PageError)) throw storeError(error, folder, "be written");
      this.#shared.checkUnchanged();
      throw damaged(this.#shared.path, error);
    }
  }

  #trees(): (readonly [name: string, tree: Tree])[] {
    return [...this.#data.trees(this.#meta)];
  }

  *#entries(name: string, { root, entries }: Tree): Generator<RecordEntry, void, undefined> {
    let count = 0;
    if (root !== undefined) {
      for (const entry of this.#entriesBelow(root, 1, this.transaction)) {
        count++;
        yield entry;
      }
    }
    if (count === entries) return;
    throw new PageError("damage", `${name} has ${count} entries, but its description says ${entries}`);
  }

  *#entriesBelow(number: number, level: number, writtenBy: number): Generator<RecordEntry, void, undefined> {
    const page = this.#page(number, level, writtenBy);
    for (const node of page.nodes) {
      if (page.branch) yield* this.#entriesBelow(node.child, level + 1, page.transaction);
      else if (!isLong(node)) yield { key: node.key, value: node.data };
      else {
        this.#data.longPages(node);
        yield { key: node.key, value: this.#data.longValue(node) };
      }
    }
  }

  release(): void {
    if (this.#released) return;
    this.#released = true;
    closeSync(this.#file);
    try {
      this.#shared.checkUnchanged();
    } finally {
      this.#unpin();
    }
  }

  *#tree({ root }: Tree, after: number): Generator<PageRun, void, undefined> {
    if (root !== undefined) yield* this.#changed(root, 1, this.transaction, after);
  }

  /** A page is never older than the pages below it, because LMDB copies a page to change it. */
  *#changed(
    number: number,
    level: number,
    writtenBy: number,
    after: number,
  ): Generator<PageRun, void, undefined> {
    const data = this.#data;
    this.#checkPlace(number, level);
    if (after > 0 && data.transactionOf(number) <= after) return;
    const page = this.#page(number, level, writtenBy);
    yield { first: number, bytes: page.bytes };
    for (const node of page.nodes) {
      if (page.branch) yield* this.#changed(node.child, level + 1, page.transaction, after);
      else if (isLong(node) && longWrittenBy(node) > after) {
        const { first, count } = data.longPages(node);
        for (let done = 0; done < count; done += longPagesAtOnce) {
          const taken = Math.min(longPagesAtOnce, count - done);
          yield { first: first + done, bytes: data.bytes(first + done, taken) };
        }
      }
    }
  }

  #page(number: number, level: number, writtenBy: number): Page {
    this.#checkPlace(number, level);
    const page = this.#data.page(number);
    if (page.transaction > writtenBy) {
      throw new PageError("damage", `page ${number} is newer than the page that refers to it`);
    }
    return page;
  }

  #checkPlace(number: number, level: number): void {
    if (number >= 2 && number < this.pageCount && level <= deepest) return;
    throw new PageError("damage", `page ${number} is not a page of a tree`);
  }
}
