/**
 * Where backups are kept: named objects of bytes. Names are relative paths with `/`. An object is
 * never seen half-written, and survives a stop of the machine as soon as `put` has resolved.
 */
export interface BackupStorage {
  /** The place, for messages. */
  readonly description: string;
  /** Writes an object, or replaces it. `signal` ends the request. */
  put(name: string, bytes: Uint8Array, signal?: AbortSignal): Promise<void>;
  /** Writes an object, unless it exists. Resolves to whether it was written. */
  create(name: string, bytes: Uint8Array): Promise<boolean>;
  /** The object. Undefined if it does not exist. */
  get(name: string): Promise<Buffer | undefined>;
  /** The names of all objects that begin with `prefix`, which is empty or ends with `/`. */
  list(prefix: string): AsyncIterable<string>;
  /** Deletes an object. Deleting a missing object has no effect. */
  delete(name: string): Promise<void>;
  /** Removes what killed processes have left half-written. Only the holder of the lock calls it. */
  clean(): Promise<void>;
}

/** Variables of the process, such as those with the keys for S3. */
export type Variables = Readonly<Record<string, string | undefined>>;
