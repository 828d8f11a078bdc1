import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Environment, sleep, throwIfAborted } from "../environment/index.js";
import {
  BackupDamagedError,
  BackupError,
  BackupFullError,
  checkOptionNames,
  InvalidArgumentError,
  type OptionNames,
  StoreDamagedError,
  StoreFullError,
} from "../errors/index.js";
import { PageSet } from "../store/index.js";
import { checkedFolder } from "./folder-backup.js";
import { flushFolder } from "./folder-storage.js";
import type { Manifest } from "./manifest.js";
import { inNewFolder, settleCopy } from "./new-folder.js";
import { decodePart } from "./parts.js";
import { type BackupEntry, BackupPlace } from "./place.js";
import { storageOf } from "./storage-of.js";
import { type PlaceOptions, type Surroundings, surroundingsOf } from "./surroundings.js";

/** A clock that is behind the backups by at most this much is waited for, in milliseconds. */
const maxBehindMs = 5_000;
/** Free pages are written as zeros, 1 MiB at a time, so that the file has all its disk space. */
const zeros = Buffer.alloc(2 ** 20);

/** The options of {@link restore}. */
export interface RestoreOptions extends PlaceOptions {
  /**
   * Restores the newest backup that was taken at this time or before, or whose newest timestamp is at
   * most this one. Default: the newest backup.
   */
  readonly at?: number | Date | undefined;
  /** Ends the restore. The folder is then as before. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called from time to time with the bytes that were read, and all that will be read. Default: none. */
  readonly onProgress?: ((done: number, of: number) => void) | undefined;
}

const optionNames = {
  at: true,
  signal: true,
  onProgress: true,
  environment: true,
  variables: true,
} satisfies OptionNames<RestoreOptions>;

type RestoreSettings = RestoreOptions & Surroundings;

/** What was restored. */
export interface RestoreReport {
  /** The name of the backup. */
  readonly name: string;
  /** When the state was the newest one of the folder that was backed up, in milliseconds since 1970. */
  readonly takenAt: number;
  /** The newest timestamp of the state. Commits up to this one are in it, and no others. */
  readonly timestamp: number;
  /** When the next later backup was taken. Undefined if the newest one was restored. */
  readonly nextTakenAt: number | undefined;
  /** Size of the restored file in bytes. */
  readonly bytes: number;
  /** How many sessions were in the state. They have ended, and nobody waits for them. */
  readonly endedSessions: number;
  /** How long the restore took, in milliseconds. */
  readonly durationMs: number;
}

/**
 * Restores a folder from a backup. `place` is where the backups are: a folder, or `s3://BUCKET/PREFIX`.
 * `location` is a folder that is empty or does not exist. It gets its database in the last step, by a
 * rename, so nobody can open a part of it. Everything is compared with its checksums on the way. If
 * the call fails, the folder is as it was before.
 *
 * Commits after the backup are gone, and their timestamps are not given out again. Workers on the
 * restored folder continue with what was due in the backup.
 *
 * @throws BackupError if there is no fitting backup, or if the folder is not empty.
 * @throws BackupDamagedError if a part of the backup is missing or damaged.
 * @throws BackupFullError if the disk of the folder is full.
 * @throws StoreVersionError if a newer version of the package wrote the database that was backed up.
 * @throws BackupAccessError if the place cannot be read, or the folder cannot be written.
 * @throws AbortedError after `signal`.
 *
 * @example
 * const { takenAt } = await restore("/mnt/backups/shop", "./restored", { at: new Date("2026-01-31T12:00:00Z") });
 */
export async function restore(
  place: string,
  location: string,
  options: RestoreOptions = {},
): Promise<RestoreReport> {
  checkOptionNames("restore", options, optionNames);
  checkMoment(options.at);
  const settings = { ...options, ...surroundingsOf(options) };
  const { environment, variables, signal } = settings;
  const startedAt = environment.monotonic();
  const folder = checkedFolder(location);
  const backups = await BackupPlace.open(storageOf(place, environment, variables, signal), environment, {
    create: false,
  });
  return restoreFrom(backups, folder, startedAt, settings);
}

function checkMoment(at: unknown): void {
  if (at instanceof Date) {
    if (Number.isNaN(at.getTime())) throw new InvalidArgumentError("`at` is not a valid Date.");
  } else if (at !== undefined && (typeof at !== "number" || Number.isNaN(at))) {
    throw new InvalidArgumentError(
      `\`at\` must be a timestamp (microseconds since 1970) or a Date, not ${String(at)}.`,
    );
  }
}

async function restoreFrom(
  place: BackupPlace,
  folder: string,
  startedAt: number,
  options: RestoreSettings,
): Promise<RestoreReport> {
  const { environment, signal } = options;
  const entries = await place.list();
  const entry = await chosen(place, entries, options);
  const manifest = await place.manifest(entry);
  await untilLater(await newestTimestamp(place, entries, options), options);
  return inNewFolder(folder, "restore", async (work) => {
    const file = join(work, manifest.fileName);
    await writeFile(place, manifest, file, options);
    const endedSessions = await settle(work, environment);
    throwIfAborted(signal, "The restore");
    const { takenAt, timestamp } = manifest;
    const report: RestoreReport = {
      name: entry.name,
      takenAt,
      timestamp,
      nextTakenAt: entries[entries.indexOf(entry) + 1]?.takenAt,
      bytes: manifest.pageCount * manifest.pageSize,
      endedSessions,
      durationMs: Math.round(environment.monotonic() - startedAt),
    };
    return { file, report };
  });
}

/**
 * @throws BackupDamagedError if the file is no sound database.
 * @throws BackupFullError if the disk is full.
 */
async function settle(work: string, environment: Environment): Promise<number> {
  try {
    return await settleCopy(work, environment);
  } catch (cause) {
    if (cause instanceof StoreFullError) {
      throw new BackupFullError(`The backup could not be restored: ${cause.message}`, { cause });
    }
    if (!(cause instanceof StoreDamagedError)) throw cause;
    throw new BackupDamagedError(
      `The backup was read without errors, but it holds no sound database: ${cause.message}`,
      { cause },
    );
  }
}

async function chosen(
  place: BackupPlace,
  entries: readonly BackupEntry[],
  { at, signal }: RestoreSettings,
): Promise<BackupEntry> {
  const newest = entries.at(-1);
  if (newest === undefined) {
    throw new BackupError(
      `There is no complete backup in ${place.storage.description}. Make one with \`percolator backup\`.`,
    );
  }
  if (at === undefined) return newest;
  for (const entry of [...entries].reverse()) {
    throwIfAborted(signal, "The restore");
    if (at instanceof Date ? entry.takenAt <= at.getTime() : (await timestampOf(place, entry)) <= at)
      return entry;
  }
  throw new BackupError(
    `No backup in ${place.storage.description} is as old as that: the oldest one was taken at ${new Date(entries[0]!.takenAt).toISOString()}.`,
  );
}

/** The newest timestamp that is known to have been given out. */
async function newestTimestamp(
  place: BackupPlace,
  entries: readonly BackupEntry[],
  { signal }: RestoreSettings,
): Promise<number> {
  let newest = 0;
  for (const entry of [...entries].reverse()) {
    throwIfAborted(signal, "The restore");
    newest = Math.max(newest, await timestampOf(place, entry));
    if ((await place.soundManifest(entry)) !== undefined) break;
  }
  return newest;
}

/** The newest timestamp of a backup. If the backup is damaged, its time tells it roughly. */
async function timestampOf(place: BackupPlace, entry: BackupEntry): Promise<number> {
  return (await place.soundManifest(entry))?.timestamp ?? entry.takenAt * 1_000;
}

/**
 * The restored database gives out timestamps above those of the wall clock. The database that was
 * backed up did the same. So its timestamps, also those after the backup, are below new ones, unless
 * this machine's clock is behind.
 */
async function untilLater(timestamp: number, { environment, signal }: RestoreSettings): Promise<void> {
  const behindMs = timestamp / 1_000 - environment.now();
  if (behindMs > maxBehindMs) {
    throw new BackupError(
      `This machine's clock is ${Math.ceil(behindMs / 1_000)} s behind the newest backup, so the restored database could give out timestamps ` +
        "that were given out before. Correct the clock, and restore again.",
    );
  }
  if (behindMs > 0) await sleep(environment, behindMs + 1, signal, "The restore");
}

async function writeFile(
  place: BackupPlace,
  { packs, pageSize, pageCount }: Manifest,
  path: string,
  { signal, onProgress }: RestoreSettings,
): Promise<void> {
  const of = packs.reduce((sum, { bytes }) => sum + bytes, 0);
  const written = new PageSet(pageCount);
  let done = 0;
  const file = await open(path, "wx+");
  try {
    for (const pack of packs) {
      for (const part of await place.parts(pack)) {
        throwIfAborted(signal, "The restore");
        const bytes = await place.part(part);
        const where = `Part ${part.name} of the backups in ${place.storage.description}`;
        for (const run of await decodePart(bytes, pageSize, where)) {
          // The file may have become shorter, so an older pack can have pages beyond its end.
          const end = Math.min(pageCount, run.first + run.bytes.length / pageSize);
          if (end <= run.first) continue;
          for (let page = run.first; page < end; page++) written.add(page);
          await writeAll(file, run.bytes.subarray(0, (end - run.first) * pageSize), run.first * pageSize);
        }
        done += bytes.length;
        await onProgress?.(done, of);
      }
    }
    await fillHoles(file, written, pageSize, pageCount);
    await file.truncate(pageCount * pageSize);
    await file.sync();
  } finally {
    await file.close();
  }
  await flushFolder(dirname(path));
}

/** LMDB will write into free pages. A hole there could meet a full disk at a moment at which LMDB cannot bear it. */
async function fillHoles(
  file: FileHandle,
  written: PageSet,
  pageSize: number,
  pageCount: number,
): Promise<void> {
  const isHole = (page: number) => !written.has(page);
  const most = Math.floor(zeros.length / pageSize);
  for (let page = 0; page < pageCount; page++) {
    if (!isHole(page)) continue;
    let count = 1;
    while (count < most && page + count < pageCount && isHole(page + count)) count++;
    await writeAll(file, zeros.subarray(0, count * pageSize), page * pageSize);
    page += count - 1;
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}
