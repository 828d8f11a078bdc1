import { StoreDamagedError } from "../../errors/index.js";
import { allColumns, equalBytes, type Position, pages } from "../../store/index.js";
import {
  announcedUs,
  type CommittedCell,
  decodeFeedEntry,
  type FeedEntry,
  type FeedOrder,
  feedRow,
  feedTable,
  SnapshotReader,
  type TransactionContext,
  timestampOfFeedRow,
} from "../../transaction/index.js";

/** What a committed transaction did to the columns of a feed. */
export interface CommittedEntry extends FeedEntry {
  readonly commitTimestamp: number;
}

/** Some entries of a feed, and how far they reach. */
export interface EntryBatch {
  /** In commit order. */
  readonly entries: readonly CommittedEntry[];
  /** All entries of commits up to this timestamp are in the batch, or in earlier ones. */
  readonly upTo: number;
}

export interface EntryRead {
  readonly feed: string;
  /** Only entries of later commits. */
  readonly since: number;
  /** A timestamp that was already given out. Only entries of commits up to it. */
  readonly upTo: number;
  /** The most entries. A batch also ends after `maxBytes` bytes of entries. */
  readonly limit: number;
  readonly signal?: AbortSignal | undefined;
}

/** A batch of entries takes no more of them once it has this many bytes. */
const maxBytes = 4 * 1024 ** 2;

/**
 * Reads the entries of a feed from a snapshot. The snapshot has every transaction that committed up
 * to its timestamp, so nothing is missing. A lock that may still commit below it is resolved first,
 * as in every read (protocol §3.2).
 */
export async function readEntries(context: TransactionContext, read: EntryRead): Promise<EntryBatch> {
  const unregister = context.active.register(read.upTo);
  try {
    const reader = new SnapshotReader(context, read.upTo, { signal: read.signal });
    const entries: CommittedEntry[] = [];
    let bytes = 0;
    for await (const stored of merge(inCommitOrder(reader, read), announced(reader, read))) {
      const entry = stored.bytes.length === 1 ? stored.bytes[0]! : Buffer.concat(stored.bytes);
      entries.push({ commitTimestamp: stored.commit, ...decodeFeedEntry(entry) });
      bytes += entry.length;
      if (entries.length >= read.limit || bytes >= maxBytes) return { entries, upTo: stored.commit };
    }
    return { entries, upTo: read.upTo };
  } finally {
    unregister();
  }
}

/** As {@link readEntries}. An entry that was removed while it was read looks damaged: the floor tells. */
export async function entriesOrDamage(
  context: TransactionContext,
  read: EntryRead,
): Promise<EntryBatch | StoreDamagedError> {
  try {
    return await readEntries(context, read);
  } catch (error) {
    if (error instanceof StoreDamagedError) return error;
    throw error;
  }
}

/** An entry as it is stored. */
interface StoredEntry {
  readonly commit: number;
  /** The timestamp in its row. */
  readonly stamp: number;
  readonly bytes: readonly Buffer[];
}

type Entries = AsyncGenerator<StoredEntry, void, undefined>;

/** The entries of one-phase commits. Their rows are in commit order. */
function inCommitOrder(reader: SnapshotReader, { feed, since, upTo, limit }: EntryRead): Entries {
  return entriesOf(reader, feed, "commit", since + 1, upTo + 1, limit);
}

/**
 * The entries of two-phase commits, in commit order. Their rows are in the order of the
 * announcements, and no commit is earlier than its announcement. So an entry is next if no later
 * announcement can have an earlier commit. Few entries wait for that, because a commit follows its
 * announcement soon.
 */
async function* announced(
  reader: SnapshotReader,
  { feed, since, upTo, limit }: EntryRead,
): AsyncGenerator<StoredEntry, void, undefined> {
  const waiting: StoredEntry[] = [];
  const from = Math.max(0, since - announcedUs);
  for await (const entry of entriesOf(reader, feed, "announcement", from, upTo + 1, limit)) {
    while (waiting.length > 0 && waiting[0]!.commit <= entry.stamp) yield waiting.shift()!;
    const isLate = entry.commit - entry.stamp > announcedUs;
    if (entry.commit <= since || isLate) continue;
    let place = waiting.length;
    while (place > 0 && waiting[place - 1]!.commit > entry.commit) place--;
    waiting.splice(place, 0, entry);
  }
  yield* waiting;
}

async function* entriesOf(
  reader: SnapshotReader,
  feed: string,
  order: FeedOrder,
  from: number,
  to: number,
  limit: number,
): AsyncGenerator<StoredEntry, void, undefined> {
  const end = { row: feedRow(feed, order, to) };
  const read = (start?: Position) =>
    reader.range({ table: feedTable, start, end, columns: allColumns, limit });
  // A page may end within a row.
  let open: { readonly row: Uint8Array; readonly cells: CommittedCell[] } | undefined;
  for await (const page of pages(read, { row: feedRow(feed, order, from) })) {
    for (const { row, cells } of page.rows) {
      if (open !== undefined && equalBytes(open.row, row)) open.cells.push(...cells);
      else {
        if (open !== undefined) yield* storedEntry(open.row, open.cells);
        open = { row, cells: [...cells] };
      }
    }
  }
  if (open !== undefined) yield* storedEntry(open.row, open.cells);
}

function* storedEntry(row: Uint8Array, cells: readonly CommittedCell[]): Generator<StoredEntry> {
  const [first] = cells;
  if (first === undefined) return;
  const bytes = cells.map(({ value, column }, index) => {
    if (value === undefined || Buffer.from(column).readUInt16BE() !== index) throw incomplete(first.commit);
    return value;
  });
  yield { commit: first.commit, stamp: timestampOfFeedRow(row), bytes };
}

function incomplete(commit: number): StoreDamagedError {
  return new StoreDamagedError(
    `A part is missing of the entry that the transaction at ${commit} left in a feed. Run \`percolator check\`.`,
  );
}

async function* merge(a: Entries, b: Entries): Entries {
  let [left, right] = await Promise.all([a.next(), b.next()]);
  for (;;) {
    if (left.done === true && right.done === true) return;
    if (right.done === true || (left.done !== true && left.value.commit < right.value.commit)) {
      if (left.done === true) return;
      yield left.value;
      left = await a.next();
    } else {
      yield right.value;
      right = await b.next();
    }
  }
}
