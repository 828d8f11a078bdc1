import { checkOptionNames, InvalidArgumentError, type OptionNames } from "../errors/index.js";
import { type BackupFailure, type BackupProgress, type BackupReport, FolderBackup } from "./folder-backup.js";
import type { KeepRules } from "./place.js";
import { type PlaceOptions, surroundingsOf } from "./surroundings.js";

/** Time from the beginning of one backup to that of the next, in milliseconds: what a lost machine may lose. */
const defaultEveryMs = 10_000;
const minEveryMs = 100;

/** The options of {@link backup}. */
export interface BackupOptions extends KeepRules, PlaceOptions {
  /**
   * Opens the database only for reading, such as on a read-only file system. Each backup then copies
   * all pages. Default: false.
   */
  readonly readOnly?: boolean | undefined;
  /** Ends the backup. The one under way then does not exist, and earlier ones are intact. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called from time to time. Default: none. */
  readonly onProgress?: ((progress: BackupProgress) => void) | undefined;
}

/** The options of {@link followBackup}. */
export interface FollowBackupOptions extends BackupOptions {
  /**
   * Time from the beginning of one backup to that of the next, in milliseconds, at least 100. Default:
   * 10,000. If the machine is lost, so are the commits of this time, and of the time that a backup takes.
   */
  readonly everyMs?: number | undefined;
}

const optionNames = {
  keep: true,
  keepForMs: true,
  readOnly: true,
  signal: true,
  onProgress: true,
  environment: true,
  variables: true,
} satisfies OptionNames<BackupOptions>;

const followNames = { ...optionNames, everyMs: true } satisfies OptionNames<FollowBackupOptions>;

/**
 * Makes a backup of a folder's newest committed state while programs use the folder, and deletes the
 * backups that no rule keeps. `location` is the folder of the database. `place` is where its backups
 * are kept: a folder that is empty, has backups of this database or does not exist, or
 * `s3://BUCKET/PREFIX`. The first backup copies all pages. A later one copies the pages that have
 * changed, and there is none if nothing has. A call that fails leaves earlier backups intact.
 *
 * @throws BackupError if the location is not a folder, or if the place holds something else.
 * @throws BackupBusyError if another process writes backups to the place.
 * @throws BackupFullError if the disk of the place is full.
 * @throws BackupAccessError if the place cannot be written.
 * @throws AbortedError after `signal`.
 *
 * @example
 * const { kind, bytes } = await backup("./data", "/mnt/backups/shop", { keep: 14 });
 */
export async function backup(
  location: string,
  place: string,
  options: BackupOptions = {},
): Promise<BackupReport> {
  checkOptionNames("backup", options, optionNames);
  const folder = await opened(location, place, options);
  let report: BackupReport;
  try {
    report = await folder.make();
  } catch (error) {
    // The failure of the backup says more than one of this.
    await folder.close().catch(() => undefined);
    throw error;
  }
  await folder.close();
  return report;
}

/**
 * Makes a backup every `everyMs` milliseconds, until the signal is aborted or the loop is left, and
 * yields a report of each. If one other than the first fails, yields the failure, and tries again.
 *
 * @throws as {@link backup} does, for the first backup.
 * @throws BackupBusyError if another process has taken over the place.
 * @throws StoreMovedError or StoreDamagedError if the database is gone or damaged.
 * @throws StoreChangedError if another process has written to a folder that is read without a lock.
 * @throws AbortedError after `signal`.
 *
 * @example
 * for await (const done of followBackup("./data", "s3://backups/shop", { everyMs: 60_000, signal })) {
 *   if (done.kind === "failed") console.error(done.error);
 * }
 */
export async function* followBackup(
  location: string,
  place: string,
  options: FollowBackupOptions = {},
): AsyncGenerator<BackupReport | BackupFailure, void, undefined> {
  checkOptionNames("followBackup", options, followNames);
  const { everyMs = defaultEveryMs } = options;
  if (!(everyMs >= minEveryMs)) {
    throw new InvalidArgumentError(`\`everyMs\` is ${everyMs}. Give at least ${minEveryMs} milliseconds.`);
  }
  const folder = await opened(location, place, options);
  try {
    yield* folder.follow(everyMs);
  } finally {
    await folder.close();
  }
}

function opened(location: string, destination: string, options: BackupOptions): Promise<FolderBackup> {
  const { keep, keepForMs } = options;
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 1)) {
    throw new InvalidArgumentError(`\`keep\` is ${keep}. Give a whole number of backups, at least 1.`);
  }
  if (keepForMs !== undefined && !(keepForMs >= 0)) {
    throw new InvalidArgumentError(`\`keepForMs\` is ${keepForMs}. Give milliseconds, at least 0.`);
  }
  return FolderBackup.open({ ...options, ...surroundingsOf(options), location, destination });
}
