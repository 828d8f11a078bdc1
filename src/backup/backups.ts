import { throwIfAborted } from "../environment/index.js";
import { BackupDamagedError, checkOptionNames, type OptionNames } from "../errors/index.js";
import { BackupPlace, type BackupProblem, type VerifyBackupsOptions } from "./place.js";
import { storageOf } from "./storage-of.js";
import { type PlaceOptions, surroundingsOf } from "./surroundings.js";

/** A backup in a place. */
export interface BackupSummary {
  readonly name: string;
  /** When the state was the newest one of the folder, in milliseconds since 1970. */
  readonly takenAt: number;
  /** The newest timestamp of the state. Commits up to this one are in the backup, and no others. */
  readonly timestamp: number;
  /** Bytes that a restore reads. Backups share bytes, so together they need less. */
  readonly totalBytes: number;
  /** The folder that was backed up. */
  readonly source: string;
}

/** The options of {@link listBackups}. */
export interface ListBackupsOptions extends PlaceOptions {
  /** Ends the list. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** What {@link verifyBackups} has found. */
export interface VerifyBackupsReport {
  /** Number of backups in the place. */
  readonly backups: number;
  /** Empty if every backup can be restored. */
  readonly problems: readonly BackupProblem[];
}

const listNames = {
  signal: true,
  environment: true,
  variables: true,
} satisfies OptionNames<ListBackupsOptions>;
const verifyNames = { ...listNames, onProgress: true } satisfies OptionNames<
  VerifyBackupsOptions & PlaceOptions
>;

/**
 * Yields the backups in a place, the newest first. Works while another process writes there. If some are
 * damaged, yields all others before it throws.
 *
 * @throws BackupDamagedError after the last backup, if one cannot be listed.
 * @throws BackupError if the place has no backups, and BackupAccessError if it cannot be read.
 * @throws AbortedError after `signal`.
 *
 * @example
 * for await (const { takenAt } of listBackups("/mnt/backups/shop")) console.log(new Date(takenAt));
 */
export async function* listBackups(
  place: string,
  options: ListBackupsOptions = {},
): AsyncGenerator<BackupSummary, void, undefined> {
  checkOptionNames("listBackups", options, listNames);
  const opened = await openPlace(place, options);
  let failure: BackupDamagedError | undefined;
  for (const entry of [...(await opened.list())].reverse()) {
    throwIfAborted(options.signal, "The list of the backups");
    const manifest = await opened.manifestIfKept(entry).catch((error: unknown) => {
      if (!(error instanceof BackupDamagedError)) throw error;
      failure ??= error;
      return undefined;
    });
    if (manifest === undefined) continue;
    const { takenAt, timestamp, source, packs } = manifest;
    const totalBytes = packs.reduce((sum, { bytes }) => sum + bytes, 0);
    yield { name: entry.name, takenAt, timestamp, totalBytes, source };
  }
  if (failure !== undefined) throw failure;
}

/**
 * Reads everything that the backups in a place need, and compares it with its checksums. Works while
 * another process writes there. What that process deletes meanwhile is no problem.
 *
 * @throws BackupError if the place has no backups, and BackupAccessError if it cannot be read.
 * @throws AbortedError after `signal`.
 *
 * @example
 * const { problems } = await verifyBackups("/mnt/backups/shop");
 * if (problems.length > 0) throw new Error(problems[0].message);
 */
export async function verifyBackups(
  place: string,
  options: VerifyBackupsOptions & PlaceOptions = {},
): Promise<VerifyBackupsReport> {
  checkOptionNames("verifyBackups", options, verifyNames);
  const opened = await openPlace(place, options);
  const backups = (await opened.list()).length;
  return { backups, problems: await opened.verify(options) };
}

function openPlace(place: string, options: ListBackupsOptions): Promise<BackupPlace> {
  const { environment, variables } = surroundingsOf(options);
  const storage = storageOf(place, environment, variables, options.signal);
  return BackupPlace.open(storage, environment, { create: false });
}
