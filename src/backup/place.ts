import { type Environment, throwIfAborted } from "../environment/index.js";
import { BackupDamagedError, BackupError } from "../errors/index.js";
import type { Lock } from "./lock.js";
import {
  checkFormat,
  checkManifest,
  formatName,
  formatVersion,
  isHead,
  isSum,
  type Manifest,
  manifestName,
  names,
  openJson,
  type Pack,
  type Part,
  parseManifestName,
  parseParts,
  sealJson,
} from "./manifest.js";
import { sumOf } from "./parts.js";
import type { BackupStorage } from "./storage.js";

/** A backup in a place, as its name tells. */
export interface BackupEntry {
  /** The name of its manifest in the storage. */
  readonly name: string;
  /** When the state was the newest one of the folder, in milliseconds since 1970. */
  readonly takenAt: number;
  readonly mark: string;
}

/** Which backups to keep. A backup is kept if one of the rules keeps it. The newest one is always kept. */
export interface KeepRules {
  /** How many of the newest backups to keep, at least 1. Default: all, unless `keepForMs` is given. */
  readonly keep?: number | undefined;
  /** Keeps the backups that are younger, in milliseconds. Default: all, unless `keep` is given. */
  readonly keepForMs?: number | undefined;
}

/** What `verifyBackups` has found wrong. */
export interface BackupProblem {
  /** The names of the backups that cannot be restored because of it. */
  readonly backups: readonly string[];
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** The options of `verifyBackups`. */
export interface VerifyBackupsOptions {
  /** Ends the check. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the number of bytes read so far. Default: none. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
}

/** A pack, and the names of its parts. */
interface KnownPack {
  readonly name: string;
  readonly parts: readonly string[];
}

/** A place with the backups of one folder. */
export class BackupPlace {
  readonly storage: BackupStorage;
  /** Tells this place from all others. */
  readonly id: string;
  /** The manifest that was read or stored last. */
  #last: { readonly name: string; readonly manifest: Manifest } | undefined;
  /** The packs of each kept backup, so that a deletion does not read all manifests again. */
  readonly #needed = new Map<string, readonly KnownPack[]>();
  readonly #packs = new Map<string, KnownPack>();
  #isSwept = false;

  private constructor(storage: BackupStorage, id: string) {
    this.storage = storage;
    this.id = id;
  }

  /**
   * Opens a place that has backups. With `create`, an empty place becomes one.
   *
   * @throws BackupError if the place holds something else.
   */
  static async open(
    storage: BackupStorage,
    environment: Environment,
    { create }: { readonly create: boolean },
  ): Promise<BackupPlace> {
    const head = await storage.get(names.head);
    if (head !== undefined) return new BackupPlace(storage, idOf(head, storage));
    if (!create) {
      throw new BackupError(
        `There are no backups in ${storage.description}. Name the place that was given to \`percolator backup\`.`,
      );
    }
    for await (const name of storage.list("")) {
      if (name === names.lock || name === names.head) continue;
      throw new BackupError(
        `${storage.description} holds no backups, but other files such as ${name}. Name an empty place, or one that does not exist.`,
      );
    }
    const id = environment.uniqueId();
    const made = sealJson({ format: formatName, version: formatVersion, id });
    await storage.create(names.head, made);
    // Another process may have been faster, or have replaced it where the storage has no `create` of its own.
    return BackupPlace.open(storage, environment, { create: false });
  }

  /** The backups, the oldest first. */
  async list(): Promise<readonly BackupEntry[]> {
    const entries: BackupEntry[] = [];
    for await (const name of this.storage.list(names.manifests)) {
      const parsed = parseManifestName(name);
      if (parsed !== undefined) entries.push({ name, ...parsed });
    }
    return entries.sort((a, b) => a.takenAt - b.takenAt || (a.name < b.name ? -1 : 1));
  }

  async manifest({ name }: Pick<BackupEntry, "name">): Promise<Manifest> {
    if (this.#last?.name === name) return this.#last.manifest;
    const manifest = checkManifest(openJson(await this.#get(name), this.#where(name)), this.#where(name));
    if (manifest.takenAt !== parseManifestName(name)?.takenAt) {
      throw new BackupDamagedError(
        `${this.#where(name)} is the file of another backup. Use another backup of the place, and make a new one.`,
      );
    }
    this.#last = { name, manifest };
    return manifest;
  }

  /** Like {@link manifest}, but undefined if it is damaged. */
  async soundManifest(entry: Pick<BackupEntry, "name">): Promise<Manifest | undefined> {
    return unlessDamaged(this.manifest(entry));
  }

  /** Like {@link manifest}, but undefined if the backup was deleted after it was listed. */
  async manifestIfKept(entry: Pick<BackupEntry, "name">): Promise<Manifest | undefined> {
    try {
      return await this.manifest(entry);
    } catch (error) {
      if (error instanceof BackupDamagedError && (await this.storage.get(entry.name)) === undefined)
        return undefined;
      throw error;
    }
  }

  /** The parts of a pack. */
  async parts({ name }: Pick<Pack, "name">): Promise<readonly Part[]> {
    const bytes = await this.#summed(names.packs, name);
    return parseParts(bytes, this.#where(`${names.packs}${name}`));
  }

  /** The bytes of a part. */
  part({ name }: Pick<Part, "name">): Promise<Buffer> {
    return this.#summed(names.parts, name);
  }

  async putPart(bytes: Buffer): Promise<string> {
    const name = sumOf(bytes);
    await this.storage.put(`${names.parts}${name}`, bytes);
    return name;
  }

  async putPack(parts: readonly Part[]): Promise<string> {
    const bytes = Buffer.from(JSON.stringify(parts));
    const name = sumOf(bytes);
    await this.storage.put(`${names.packs}${name}`, bytes);
    return name;
  }

  /** Stores a manifest. From then on the backup exists. */
  async putManifest(manifest: Manifest, id: string, lock: Lock): Promise<string> {
    const name = manifestName(manifest.takenAt, id);
    await lock.check();
    await this.storage.put(name, sealJson({ format: formatName, version: formatVersion, ...manifest }));
    try {
      await lock.check();
    } catch (error) {
      // The other holder may have deleted parts of this backup before it could see the manifest.
      await this.storage.delete(name);
      throw error;
    }
    this.#last = { name, manifest };
    return name;
  }

  /**
   * Deletes the backups that no rule keeps, and then everything that no backup needs. If the process
   * is killed meanwhile, the backups that remain are intact, and the next call deletes the rest.
   * Resolves to the number of deleted backups.
   */
  async prune({ keep, keepForMs }: KeepRules, now: number, lock: Lock): Promise<number> {
    if (keep === undefined && keepForMs === undefined) return 0;
    const entries = await this.list();
    const isKept = ({ takenAt }: BackupEntry, index: number) =>
      index >= entries.length - Math.max(1, keep ?? 0) ||
      (keepForMs !== undefined && takenAt >= now - keepForMs);
    const kept = entries.filter(isKept);
    const dropped = entries.filter((entry, index) => !isKept(entry, index)).map(({ name }) => name);
    if (dropped.length === 0 && this.#isSwept) return 0;
    await this.#delete(dropped, lock);
    for (const name of dropped) this.#needed.delete(name);
    await this.#sweep(kept, lock);
    return dropped.length;
  }

  /**
   * Deletes what a failed backup has stored, after the backups that no rule keeps. Otherwise a full
   * place would fill further with each attempt, and stay full.
   */
  async abandon(rules: KeepRules, now: number, lock: Lock): Promise<void> {
    this.#isSwept = false;
    const hasRules = rules.keep !== undefined || rules.keepForMs !== undefined;
    await this.prune(hasRules ? rules : { keep: Number.POSITIVE_INFINITY }, now, lock);
  }

  /** Deletes nothing if a kept backup is damaged so that it does not say what it needs. */
  async #sweep(kept: readonly BackupEntry[], lock: Lock): Promise<void> {
    const packs = new Set<string>();
    const parts = new Set<string>();
    await lock.check();
    await this.storage.clean();
    for (const entry of kept) {
      const needed = this.#needed.get(entry.name) ?? (await unlessDamaged(this.#packsOf(entry)));
      if (needed === undefined) return;
      for (const pack of needed) {
        if (packs.has(pack.name)) continue;
        packs.add(pack.name);
        for (const name of pack.parts) parts.add(name);
      }
    }
    await this.#deleteOthers(names.packs, packs, lock);
    await this.#deleteOthers(names.parts, parts, lock);
    for (const name of this.#packs.keys()) if (!packs.has(name)) this.#packs.delete(name);
    this.#isSwept = true;
  }

  async #packsOf(entry: BackupEntry): Promise<readonly KnownPack[]> {
    const needed: KnownPack[] = [];
    for (const pack of (await this.manifest(entry)).packs) {
      let known = this.#packs.get(pack.name);
      if (known === undefined) {
        known = { name: pack.name, parts: (await this.parts(pack)).map(({ name }) => name) };
        this.#packs.set(pack.name, known);
      }
      needed.push(known);
    }
    this.#needed.set(entry.name, needed);
    return needed;
  }

  async #deleteOthers(prefix: string, kept: ReadonlySet<string>, lock: Lock): Promise<void> {
    const others: string[] = [];
    for await (const name of this.storage.list(prefix)) {
      const sum = name.slice(prefix.length);
      // Files that no backup has written stay.
      if (isSum(sum) && !kept.has(sum)) others.push(name);
    }
    await this.#delete(others, lock);
  }

  /** A process that has taken over the lock may need what this one has just found to be unneeded. */
  async #delete(unneeded: readonly string[], lock: Lock): Promise<void> {
    for (const name of unneeded) {
      await lock.check();
      await this.storage.delete(name);
    }
  }

  /** Reads everything that the backups need, and compares it with its checksums. */
  async verify({ signal, onProgress }: VerifyBackupsOptions = {}): Promise<readonly BackupProblem[]> {
    const problems: BackupProblem[] = [];
    const users = new Map<string, { readonly pack: Pack; readonly backups: string[] }>();
    for (const entry of await this.list()) {
      throwIfAborted(signal, "The check of the backups");
      const manifest = await this.manifest(entry).catch(problemOf(problems, [entry.name]));
      for (const pack of manifest?.packs ?? []) {
        const user = users.get(pack.name) ?? { pack, backups: [] };
        user.backups.push(entry.name);
        users.set(pack.name, user);
      }
    }
    let bytes = 0;
    for (const { pack, backups } of users.values()) {
      const parts = await this.parts(pack).catch(problemOf(problems, backups));
      for (const part of parts ?? []) {
        throwIfAborted(signal, "The check of the backups");
        bytes += (await this.part(part).catch(problemOf(problems, backups)))?.length ?? 0;
        await onProgress?.(bytes);
      }
    }
    return this.#ofKept(problems);
  }

  /** Without the backups that another process has deleted meanwhile, with what only they needed. */
  async #ofKept(problems: readonly BackupProblem[]): Promise<readonly BackupProblem[]> {
    if (problems.length === 0) return problems;
    const kept = new Set((await this.list()).map(({ name }) => name));
    return problems
      .map(({ backups, message }) => ({ backups: backups.filter((name) => kept.has(name)), message }))
      .filter(({ backups }) => backups.length > 0);
  }

  async #summed(prefix: string, sum: string): Promise<Buffer> {
    const name = `${prefix}${sum}`;
    const bytes = await this.#get(name);
    if (sumOf(bytes) === sum) return bytes;
    throw new BackupDamagedError(
      `${this.#where(name)} is damaged: its checksum is wrong. Restore a backup that does not need it, and make a new one in another place.`,
    );
  }

  async #get(name: string): Promise<Buffer> {
    const bytes = await this.storage.get(name);
    if (bytes !== undefined) return bytes;
    throw new BackupDamagedError(
      `${this.#where(name)} is missing. Restore a backup that does not need it, and make a new one in another place.`,
    );
  }

  #where(name: string): string {
    return `${name} of the backups in ${this.storage.description}`;
  }
}

async function unlessDamaged<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof BackupDamagedError) return undefined;
    throw error;
  }
}

function problemOf(problems: BackupProblem[], backups: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof BackupDamagedError)) throw error;
    problems.push({ backups, message: error.message });
    return undefined;
  };
}

function idOf(head: Buffer, { description }: BackupStorage): string {
  const where = `${names.head} of ${description}`;
  const read = openJson(head, where);
  checkFormat(read, description);
  if (isHead(read)) return read.id;
  throw new BackupDamagedError(`${where} does not have the expected form. Name another place for backups.`);
}
