/** Consecutive pages of a store's file. */
export interface PageRun {
  /** The number of the first page. */
  readonly first: number;
  /** The pages, one after another. */
  readonly bytes: Uint8Array;
}

/**
 * One committed state of a store that keeps everything in one file of pages. The pages of the state
 * stay in place until {@link release}, while other processes write. Meanwhile the file can grow,
 * because no page of the state is used again.
 */
export interface PinnedState {
  /** The name of the file in the store's folder. */
  readonly fileName: string;
  /** The size of a page in bytes. */
  readonly pageSize: number;
  /** The number of pages of the file, with those that are free. */
  readonly pageCount: number;
  /**
   * The number of the transaction that committed the state. Transactions of one file have ascending
   * numbers. If a machine stops, transactions that were not flushed are lost, and later ones get
   * their numbers again.
   */
  readonly transaction: number;
  /** The newest timestamp that the store had given out. */
  readonly counter: number;
  /** A text that no other state of any store has. */
  readonly identity: string;
  /**
   * The pages of the state that transactions with numbers above `after` wrote, each once. With 0,
   * all pages of the state. Pages that are free in the state are left out. The first two pages, which
   * describe the state, always come first. A file with these pages at their places holds the state.
   *
   * The work is proportional to the changed pages: it skips a tree as soon as its root is older.
   *
   * @throws StoreDamagedError if a page is damaged.
   */
  pages(after: number): Iterable<PageRun>;
  /**
   * Resolves when the state is flushed. Before that, a machine that stops can lose its newest commits.
   *
   * @throws StoreError if the store cannot flush it, as when it is open only for reading.
   */
  flush(): Promise<void>;
  /** The number of records that the state has. */
  readonly records: number;
  /**
   * Writes all records of the state, in the order of their keys, into a new file in a folder that has
   * none. Its pages are full, and hardly any of them is free. The file is on the disk afterwards.
   * `between` is called after every few megabytes, with the number of records so far.
   *
   * @throws StoreDamagedError if a page is damaged.
   * @throws StoreFullError if the disk is full.
   */
  compactInto(folder: string, between: (records: number) => Promise<void>): Promise<void>;
  /**
   * Lets the store use the pages again.
   *
   * @throws StoreChangedError if the pages that were read cannot be trusted, because the store could
   * not keep writers away from them.
   */
  release(): void;
}

/** The part of a store that can be copied page by page while it is in use. The folder's store has it. */
export interface PageStore {
  /** Pins the newest committed state of any process. */
  pin(): PinnedState;
}
