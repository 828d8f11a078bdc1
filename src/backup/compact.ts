import { stat } from "node:fs/promises";
import { join } from "node:path";
import { openStore } from "../database/index.js";
import { type Environment, eventLoopTurn, throwIfAborted } from "../environment/index.js";
import { BackupError, checkOptionNames, type OptionNames } from "../errors/index.js";
import type { PinnedState } from "../store/index.js";
import { checkApart, checkedFolder } from "./folder-backup.js";
import { clearMarks } from "./marks.js";
import { inNewFolder, settleCopy } from "./new-folder.js";
import { surroundingsOf } from "./surroundings.js";

/** The options of {@link compact}. */
export interface CompactOptions {
  /** Opens the database only for reading, such as on a read-only file system. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** Ends the call. The other folder is then as before. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called from time to time with the records that were copied, and all that will be. Default: none. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
  /** Time and timers. Default: the system's. */
  readonly environment?: Environment | undefined;
}

const optionNames = {
  readOnly: true,
  signal: true,
  onProgress: true,
  environment: true,
} satisfies OptionNames<CompactOptions>;

/** What was copied. */
export interface CompactReport {
  /** The newest timestamp of the state. Commits up to this one are in the copy, and no others. */
  readonly timestamp: number;
  /** How many records the store keeps for all cells, versions and notifications. */
  readonly records: number;
  /** Size of the file in bytes. */
  readonly bytesBefore: number;
  /** Size of the copy in bytes. */
  readonly bytes: number;
  /** How many sessions were in the state. They have ended in the copy, and nobody waits for them. */
  readonly endedSessions: number;
  /** How long it took, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Copies a folder's newest committed state into another folder, in a file that is as small as
 * possible. A file never gets smaller: what collection, `drop` or expiry frees is used again, and
 * pages that are written in any order are two thirds full. The copy has no free pages, and full ones. It
 * has everything that the state has, with all versions. The first writes into full pages divide them,
 * so a copy that is written to grows again.
 *
 * `location` is not changed. Commits after the copy began are not in it. To use the copy in its place,
 * end all processes that have the database open, copy, and rename the folders. `into` is a folder that
 * is empty or does not exist. It gets its database in the last step, by a rename.
 *
 * The next backup of the copy copies all pages.
 *
 * @throws BackupError if a location is not a folder, or if `into` is not empty.
 * @throws StoreDamagedError if a page is damaged. Restore a backup.
 * @throws StoreFullError if the disk is full.
 * @throws AbortedError after `signal`.
 *
 * @example
 * const { bytesBefore, bytes } = await compact("./data", "./compacted");
 */
export async function compact(
  location: string,
  into: string,
  options: CompactOptions = {},
): Promise<CompactReport> {
  checkOptionNames("compact", options, optionNames);
  const { environment } = surroundingsOf(options);
  const startedAt = environment.monotonic();
  const [from, to] = [checkedFolder(location, "compaction"), checkedFolder(into, "compaction")];
  await checkApart(from, to);
  const store = await openStore(from, { create: false, readOnly: options.readOnly ?? false }, environment);
  try {
    if (store.pages === undefined) {
      throw new BackupError(`The pages of ${from} cannot be read on this platform. Use percolator export.`);
    }
    const state = store.pages.pin();
    try {
      const copied = await inNewFolder(to, "compaction", (work) => copy(state, work, environment, options));
      return { ...copied, durationMs: Math.round(environment.monotonic() - startedAt) };
    } finally {
      state.release();
    }
  } finally {
    await store.close();
  }
}

async function copy(
  state: PinnedState,
  work: string,
  environment: Environment,
  { signal, onProgress }: CompactOptions,
): Promise<{ readonly file: string; readonly report: Omit<CompactReport, "durationMs"> }> {
  const of = state.records;
  throwIfAborted(signal, "The compaction");
  await state.compactInto(work, async (done) => {
    await eventLoopTurn(environment);
    await onProgress?.(done, of);
    throwIfAborted(signal, "The compaction");
  });
  // Throws if the pages cannot be trusted, before the copy gets its place.
  state.release();
  const endedSessions = await settleCopy(work, environment, clearMarks);
  throwIfAborted(signal, "The compaction");
  const file = join(work, state.fileName);
  const report = {
    timestamp: state.counter,
    records: of,
    bytesBefore: state.pageCount * state.pageSize,
    bytes: (await stat(file)).size,
    endedSessions,
  };
  return { file, report };
}
