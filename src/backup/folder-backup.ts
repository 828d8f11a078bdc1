import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";
import { folderOf, isPostgres, openStore } from "../database/index.js";
import { eventLoopTurn, sleep, throwIfAborted } from "../environment/index.js";
import {
  BackupError,
  BackupFullError,
  checkText,
  StoreBusyError,
  StoreChangedError,
  StoreDamagedError,
  StoreFullError,
  StoreMovedError,
  withoutPassword,
} from "../errors/index.js";
import type { PinnedState, RowStore } from "../store/index.js";
import { keptPacks } from "./chain.js";
import { Lock } from "./lock.js";
import type { Manifest, Pack, Part } from "./manifest.js";
import { addMark, readMarks } from "./marks.js";
import { encodePart, partBytes } from "./parts.js";
import { type BackupEntry, BackupPlace, type KeepRules } from "./place.js";
import { storageOf } from "./storage-of.js";
import type { Surroundings } from "./surroundings.js";

/** Parts that are compressed and stored while the next one is read. */
const partsInFlight = 2;
/** Pages to read before the event loop gets a turn: a few milliseconds of work. */
const pagesAtOnce = 256;

/** What to back up, and where to. */
export interface FolderBackupOptions extends KeepRules, Surroundings {
  /** The folder of the database, as a path or with `file:`. */
  readonly location: string;
  /** A folder, or `s3://BUCKET/PREFIX`. */
  readonly destination: string;
  /** Opens the database only for reading. Each backup then copies all pages. Default: false. */
  readonly readOnly?: boolean | undefined;
  /** Ends the backup. Everything that was stored stays, and is not a backup. */
  readonly signal?: AbortSignal | undefined;
  /** Called from time to time. */
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined;
}

/** How far a backup has come. */
export interface BackupProgress {
  /** The pages that were read. */
  readonly pages: number;
  /** The most pages that there can be. Undefined if only changed pages are read. */
  readonly of: number | undefined;
  /** The bytes that were stored. */
  readonly bytes: number;
}

/** What one backup has done. */
export interface BackupReport {
  /** The name of the backup in its place. */
  readonly name: string;
  /** When the state was the newest one of the folder, in milliseconds since 1970. */
  readonly takenAt: number;
  /** The newest timestamp of the state. Commits up to this one are in the backup, and no others. */
  readonly timestamp: number;
  /**
   * `"full"`: all pages were copied. `"changes"`: the pages that had changed since an earlier backup.
   * `"unchanged"`: nothing had changed since the newest backup, so there is no new one.
   */
  readonly kind: "full" | "changes" | "unchanged";
  /** The pages that were copied. */
  readonly pages: number;
  /** Bytes stored now. */
  readonly bytes: number;
  /** Bytes that a restore reads. */
  readonly totalBytes: number;
  /** How many earlier backups were deleted. */
  readonly deleted: number;
  /** How long the backup took, in milliseconds. */
  readonly durationMs: number;
}

/** A backup that failed, and will be tried again. */
export interface BackupFailure {
  readonly kind: "failed";
  readonly error: unknown;
}

/**
 * Writes backups of one folder into one place, as often as {@link make} is called. It holds the
 * place's lock until it is closed.
 */
export class FolderBackup {
  readonly #options: FolderBackupOptions;
  readonly #store: RowStore;
  readonly #place: BackupPlace;
  readonly #lock: Lock;

  private constructor(options: FolderBackupOptions, store: RowStore, place: BackupPlace, lock: Lock) {
    this.#options = options;
    this.#store = store;
    this.#place = place;
    this.#lock = lock;
  }

  /**
   * @throws BackupError if the location is not a folder, or if the place holds something else.
   * @throws BackupBusyError if another process writes backups there.
   */
  static async open(options: FolderBackupOptions): Promise<FolderBackup> {
    const { location, destination, environment, variables, signal } = options;
    const folder = checkedFolder(location);
    const storage = storageOf(destination, environment, variables, signal);
    if (!destination.startsWith("s3://")) await checkApart(folder, destination);
    const readOnly = options.readOnly ?? false;
    const store = await openStore(folder, { create: false, readOnly }, environment);
    let lock: Lock | undefined;
    try {
      if (store.pages === undefined) {
        throw new BackupError(
          `The pages of ${folder} cannot be read on this platform. Use percolator export, or a snapshot of the file system.`,
        );
      }
      // The head is written first, so that a place with only a lock is not taken for another's.
      const place = await BackupPlace.open(storage, environment, { create: true });
      // The lock is released after the signal, too.
      const requests = new AbortController();
      const lockStorage = storageOf(destination, environment, variables, requests.signal);
      lock = await Lock.take(lockStorage, environment, signal, requests);
      return new FolderBackup(options, store, place, lock);
    } catch (error) {
      await lock?.release().catch(() => undefined);
      await store.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Makes a backup of the newest committed state, and deletes the backups that no rule keeps. The
   * database may be in use. If nothing has changed since the newest backup, makes none.
   */
  async make(): Promise<BackupReport> {
    const { environment } = this.#options;
    const startedAt = environment.monotonic();
    const made = await this.#make().catch(async (error: unknown) => {
      // The failure of the backup says more than one of this.
      if (error instanceof BackupFullError) {
        await this.#place.abandon(this.#options, environment.now(), this.#lock).catch(() => undefined);
      }
      throw error;
    });
    const deleted = await this.#place.prune(this.#options, environment.now(), this.#lock);
    return { ...made, deleted, durationMs: Math.round(environment.monotonic() - startedAt) };
  }

  /**
   * Makes backups until the signal is aborted. One begins `everyMs` milliseconds after the one before
   * began, or as soon as that one has ended. If a backup other than the first one fails, tries again
   * after `everyMs`.
   *
   * @throws the failure of the first backup. Later: AbortedError at the end; BackupBusyError if another
   * process has taken over the place; StoreMovedError, StoreDamagedError or StoreChangedError of the
   * database.
   */
  async *follow(everyMs: number): AsyncGenerator<BackupReport | BackupFailure, never, undefined> {
    const { environment, signal } = this.#options;
    for (let isFirst = true; ; isFirst = false) {
      const dueAt = environment.monotonic() + everyMs;
      try {
        yield await this.make();
      } catch (error) {
        if (isFirst || this.#isFinal(error)) throw error;
        yield { kind: "failed", error };
      }
      const waitMs = dueAt - environment.monotonic();
      if (waitMs > 0) await sleep(environment, waitMs, signal, "Following the database");
      throwIfAborted(signal, "Following the database");
    }
  }

  #isFinal(error: unknown): boolean {
    return (
      this.#options.signal?.aborted === true ||
      this.#lock.isLost ||
      error instanceof StoreMovedError ||
      error instanceof StoreDamagedError ||
      // Only a store that is opened again can read.
      error instanceof StoreChangedError
    );
  }

  async close(): Promise<void> {
    try {
      await this.#lock.release();
    } finally {
      await this.#store.close();
    }
  }

  async #make(): Promise<Omit<BackupReport, "deleted" | "durationMs">> {
    const { environment } = this.#options;
    const marks = await readMarks(this.#store, this.#place.id);
    const entries = await this.#place.list();
    const base = await this.#base(entries, marks);
    // Until the copy is pinned, no page of this state is used again. So a later backup may leave out
    // pages that are as old as this state.
    const before = this.#pin();
    let state: PinnedState | undefined;
    try {
      const newest = entries.at(-1);
      if (base !== undefined && base.entry === newest && base.manifest.identity === before.identity) {
        return reportOf(base.entry, base.manifest, "unchanged", 0, 0);
      }
      const mark = environment.uniqueId();
      const isMarked = this.#options.readOnly !== true && (await this.#mark(mark, marks));
      // Everything that was committed before this time is in the state.
      const takenAt = Math.max(Math.floor(environment.now()), (newest?.takenAt ?? 0) + 1);
      state = this.#pin();
      const { manifest, pages, bytes } = await this.#copy(state, before.transaction, takenAt, base?.manifest);
      // The mark is flushed, but the state may have later commits that a power cut would take. The folder
      // would then have the mark of a state that is not its past.
      if (isMarked) await state.flush();
      const name = await this.#place.putManifest(manifest, mark, this.#lock);
      const kind = manifest.packs.length === 1 ? "full" : "changes";
      return reportOf({ name }, manifest, kind, pages, bytes);
    } finally {
      try {
        before.release();
      } finally {
        state?.release();
      }
    }
  }

  /**
   * The newest sound backup whose mark is in the folder. The folder's state then has that backup's state as its past.
   */
  async #base(
    entries: readonly BackupEntry[],
    marks: readonly string[],
  ): Promise<{ readonly entry: BackupEntry; readonly manifest: Manifest } | undefined> {
    for (const entry of [...entries].reverse()) {
      if (!marks.includes(entry.mark)) continue;
      const manifest = await this.#place.soundManifest(entry);
      if (manifest !== undefined) return { entry, manifest };
    }
    return undefined;
  }

  /**
   * A folder whose disk is full, or whose write lock is held, is backed up without a mark. Such a
   * backup is complete, but no base for later ones. Resolves to whether the folder has the mark.
   */
  async #mark(mark: string, before: readonly string[]): Promise<boolean> {
    try {
      await addMark(this.#store, this.#place.id, mark, before);
      return true;
    } catch (error) {
      if (!(error instanceof StoreFullError || error instanceof StoreBusyError)) throw error;
      return false;
    }
  }

  #pin(): PinnedState {
    return this.#store.pages!.pin();
  }

  async #copy(
    state: PinnedState,
    mark: number,
    takenAt: number,
    base: Manifest | undefined,
  ): Promise<{ readonly manifest: Manifest; readonly pages: number; readonly bytes: number }> {
    const isFitting = base !== undefined && base.pageSize === state.pageSize;
    const packs = isFitting ? base.packs.slice(0, keptPacks(base.packs)) : [];
    const after = packs.at(-1)?.mark ?? 0;
    const parts = await this.#copyPages(state, after);
    // Throws if the pages cannot be trusted, before there is a manifest.
    state.release();
    const pages = parts.reduce((sum, part) => sum + part.pages, 0);
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    const pack: Pack = { name: await this.#place.putPack(parts), after, mark, pages, bytes };
    const manifest: Manifest = {
      takenAt,
      timestamp: state.counter,
      identity: state.identity,
      source: this.#store.description,
      fileName: state.fileName,
      pageSize: state.pageSize,
      pageCount: state.pageCount,
      packs: [...packs, pack],
    };
    return { manifest, pages, bytes };
  }

  async #copyPages(state: PinnedState, after: number): Promise<readonly Part[]> {
    const { environment, signal, onProgress } = this.#options;
    const parts: Part[] = [];
    const inFlight = new Set<Promise<void>>();
    let bytes = 0;
    let failure: { readonly error: unknown } | undefined;
    const store = (numbers: readonly number[], pages: Buffer, index: number) => {
      const stored = encodePart(state.pageSize, numbers, pages)
        .then(async (part) => {
          const name = await this.#place.putPart(part);
          bytes += part.length;
          parts[index] = { name, pages: numbers.length, bytes: part.length };
        })
        .catch((error: unknown) => {
          failure ??= { error };
        });
      const done = stored.finally(() => inFlight.delete(done));
      inFlight.add(done);
    };
    let read = 0;
    let turn = 0;
    let index = 0;
    const most = Math.floor(partBytes / state.pageSize);
    let numbers: number[] = [];
    let pages = Buffer.allocUnsafe(most * state.pageSize);
    const flush = async () => {
      if (numbers.length === 0) return;
      store(numbers, pages.subarray(0, numbers.length * state.pageSize), index++);
      numbers = [];
      pages = Buffer.allocUnsafe(most * state.pageSize);
      while (inFlight.size >= partsInFlight) await Promise.race(inFlight);
    };
    try {
      for (const run of state.pages(after)) {
        for (let at = 0; at < run.bytes.length; at += state.pageSize) {
          pages.set(run.bytes.subarray(at, at + state.pageSize), numbers.length * state.pageSize);
          numbers.push(run.first + at / state.pageSize);
          read++;
          if (numbers.length === most) await flush();
        }
        if (read - turn >= pagesAtOnce) {
          turn = read;
          await eventLoopTurn(environment);
          throwIfAborted(signal, "The backup");
          if (failure !== undefined) break;
          await onProgress?.({ pages: read, of: after === 0 ? state.pageCount : undefined, bytes });
        }
      }
      if (failure === undefined) await flush();
    } finally {
      await Promise.all(inFlight);
    }
    if (failure !== undefined) throw failure.error;
    throwIfAborted(signal, "The backup");
    return parts;
  }
}

function reportOf(
  { name }: Pick<BackupEntry, "name">,
  { takenAt, timestamp, packs }: Manifest,
  kind: BackupReport["kind"],
  pages: number,
  bytes: number,
): Omit<BackupReport, "deleted" | "durationMs"> {
  const totalBytes = packs.reduce((sum, pack) => sum + pack.bytes, 0);
  return { name, takenAt, timestamp, kind, pages, bytes, totalBytes };
}

/**
 * The folder of a location.
 *
 * @throws BackupError for a location that is not a folder.
 */
export function checkedFolder(location: string, use: keyof typeof uses = "backup"): string {
  checkText("The location of a database's folder", location);
  const { are, postgres, bigtable } = uses[use];
  const refuse = (kind: string, instead: string) =>
    new BackupError(`${withoutPassword(location)} is ${kind}, but only folders are ${are}. ${instead}`);
  if (isPostgres(location)) throw refuse("a PostgreSQL database", postgres);
  if (location.startsWith("bigtable:")) throw refuse("on Bigtable", bigtable);
  if (location.startsWith("memory:")) throw refuse("in memory", "Name the folder of a database.");
  return folderOf(location);
}

const uses = {
  backup: {
    are: "backed up and restored here",
    postgres: "Use pg_dump, or a base backup with archived WAL for any moment.",
    bigtable: "Use Bigtable's own backups, as docs/operations.md says, or `percolator export`.",
  },
  compaction: {
    are: "compacted",
    postgres: "PostgreSQL uses freed space again by itself, and `VACUUM FULL` gives it back.",
    bigtable: "Bigtable compacts its tables by itself.",
  },
} as const;

/** The backups must not be among the files that are backed up, nor the other way round. */
export async function checkApart(location: string, destination: string): Promise<void> {
  const [from, to] = await Promise.all([realPath(location), realPath(destination)]);
  if (from !== to && !to.startsWith(from + sep) && !from.startsWith(to + sep)) return;
  throw new BackupError(
    `The database in ${location} cannot be copied to ${destination}, because one is inside the other. Name another folder, best on another disk.`,
  );
}

/** The real path, also of a folder that does not exist yet. */
async function realPath(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const whole = resolve(path);
    return dirname(whole) === whole ? whole : join(await realPath(dirname(whole)), basename(whole));
  }
}
