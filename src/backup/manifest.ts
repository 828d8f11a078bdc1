import { sha256 } from "../environment/index.js";
import { BackupDamagedError, BackupError } from "../errors/index.js";
import { type Guard, isString, isTime, isWhole, listOf, record } from "../observer/index.js";

/** Which pages a pack holds, and where they stand. */
export interface Pack {
  /** The SHA-256 of the pack's list of parts. */
  readonly name: string;
  /** Holds the pages that were written by transactions above this one. 0: all pages. */
  readonly after: number;
  /** A later pack may leave out the pages that this transaction or an earlier one wrote. */
  readonly mark: number;
  readonly pages: number;
  /** Size in the storage, in bytes. */
  readonly bytes: number;
}

/** A file of compressed pages. */
export interface Part {
  /** The SHA-256 of its bytes. */
  readonly name: string;
  readonly pages: number;
  readonly bytes: number;
}

/** One backup: a whole state of a folder, as a chain of packs. Pages of later packs replace earlier ones. */
export interface Manifest {
  /** When the state was the newest one of the folder, in milliseconds since 1970. */
  readonly takenAt: number;
  /** The newest timestamp that the database had given out. */
  readonly timestamp: number;
  /** The state's identity in the folder's file. */
  readonly identity: string;
  readonly source: string;
  readonly fileName: string;
  readonly pageSize: number;
  /** The number of pages of the file, with those that are free. */
  readonly pageCount: number;
  readonly packs: readonly Pack[];
}

export const formatName = "percolatordb-backup";
export const formatVersion = 1;

/** Objects of the storage. */
export const names = Object.freeze({
  /** Says what the place is. */
  head: "percolatordb-backups.json",
  lock: "lock.json",
  manifests: "manifests/",
  packs: "packs/",
  parts: "pages/",
});

/** The name of a manifest. Names sort by time. The mark finds the manifest again. */
export function manifestName(takenAt: number, mark: string): string {
  return `${names.manifests}${new Date(takenAt).toISOString().replaceAll(":", "-")}_${mark}.json`;
}

const manifestPattern = /^manifests\/(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3}Z)_([0-9a-z-]+)\.json$/;

/** What the name of a manifest says. Undefined for other names. */
export function parseManifestName(
  name: string,
): { readonly takenAt: number; readonly mark: string } | undefined {
  const found = manifestPattern.exec(name);
  if (found === null) return undefined;
  const [, day, hour, minute, rest, mark] = found;
  const takenAt = Date.parse(`${day}${hour}:${minute}:${rest}`);
  return Number.isNaN(takenAt) ? undefined : { takenAt, mark: mark! };
}

/** JSON with a checksum of its own, in one line. */
export function sealJson(document: object): Buffer {
  const text = JSON.stringify(document);
  return Buffer.from(`${JSON.stringify({ sha256: sha256(text), document: text })}\n`);
}

/** Opens what {@link sealJson} has sealed. `where` names the object for the message. */
export function openJson(bytes: Buffer, where: string): unknown {
  try {
    const { sha256: sum, document } = JSON.parse(bytes.toString("utf8")) as Record<string, unknown>;
    if (typeof document === "string" && sum === sha256(document)) return JSON.parse(document);
  } catch {
    // Reported below.
  }
  throw new BackupDamagedError(
    `${where} is damaged: its checksum is wrong. Use another backup of the place, and make a new one.`,
  );
}

/** 64 TiB in pages of 4 KiB. */
const maxPages = 2 ** 34;

const isWithin =
  (least: number, most: number): Guard<number> =>
  (value): value is number =>
    isWhole(value) && value >= least && value <= most;
/** Whether a text has the form of a SHA-256. */
export const isSum: Guard<string> = (value): value is string =>
  isString(value) && /^[0-9a-f]{64}$/.test(value);
/** A restore writes a file of this name, so the name must not lead out of its folder. */
const isFileName: Guard<string> = (value): value is string => isString(value) && /^\w[\w.-]*$/.test(value);

const isPack = record<Pack>({
  name: isSum,
  after: isWhole,
  mark: isWhole,
  pages: isWhole,
  bytes: isWhole,
});
const isManifest = record<Manifest>({
  takenAt: isTime,
  timestamp: isWhole,
  identity: isString,
  source: isString,
  fileName: isFileName,
  pageSize: isWithin(512, 65_536),
  pageCount: isWithin(1, maxPages),
  packs: listOf(isPack),
});
const isParts = listOf(record<Part>({ name: isSum, pages: isWhole, bytes: isWhole }));

/** What {@link names}.head says, besides the format. */
export const isHead = record<{ readonly id: string }>({ id: isString });

export function checkFormat(read: unknown, where: string): void {
  const { format, version } = (read ?? {}) as Readonly<Record<string, unknown>>;
  if (format === formatName && version === formatVersion) return;
  throw new BackupError(
    `${where} has backups of format ${String(version)}, but this version of the package knows only ${formatVersion}. Upgrade the package.`,
  );
}

/** The checksum alone does not tell: somebody who changes a manifest can change it too. */
export function checkManifest(read: unknown, where: string): Manifest {
  checkFormat(read, where);
  if (isManifest(read)) return read;
  throw malformed(where);
}

/** The parts of a pack, from the bytes of its list. */
export function parseParts(bytes: Buffer, where: string): readonly Part[] {
  try {
    const read: unknown = JSON.parse(bytes.toString("utf8"));
    if (isParts(read)) return read;
  } catch {
    // Reported below.
  }
  throw malformed(where);
}

function malformed(where: string): BackupDamagedError {
  return new BackupDamagedError(
    `${where} does not have the expected form. Use another backup of the place, and make a new one.`,
  );
}
