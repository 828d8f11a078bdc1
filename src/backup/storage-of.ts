import type { Environment } from "../environment/index.js";
import { BackupError, checkText, withoutPassword } from "../errors/index.js";
import { FolderStorage } from "./folder-storage.js";
import { S3Storage } from "./s3-storage.js";
import type { BackupStorage, Variables } from "./storage.js";

/**
 * The storage of a place: a folder, or `s3://BUCKET/PREFIX`. `signal` ends its requests.
 *
 * @throws BackupError if the place has an unknown scheme, or if the variables for S3 are missing.
 */
export function storageOf(
  place: string,
  environment: Environment,
  variables: Variables,
  signal?: AbortSignal,
): BackupStorage {
  checkText("A place of backups, a folder or s3://BUCKET/PREFIX,", place);
  if (place.startsWith("s3://")) return S3Storage.of(place, environment, variables, signal);
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(place)?.[1];
  if (scheme === undefined) return new FolderStorage(place, environment);
  throw new BackupError(
    `Backups cannot be kept in ${withoutPassword(place)}: give a folder, or s3://BUCKET/PREFIX for a storage that is compatible with S3.`,
  );
}
