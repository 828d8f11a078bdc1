import { sha256 } from "../environment/index.js";
import { BackupDamagedError } from "../errors/index.js";

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
  return { takenAt: Date.parse(`${day}${hour}:${minute}:${rest}`), mark: mark! };
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
