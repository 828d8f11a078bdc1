import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "percolatordb";
import { type BackupReport, backup, type RestoreReport, restore } from "percolatordb/backup";
import type { OpenWithHooksOptions } from "percolatordb/testing";
import { systemEnvironment } from "../../src/environment/index.js";
import { openAlone, temporaryFolder } from "../support/databases.js";
import { addUp, tables } from "./load.js";

/** What backups and restores in tests share. */
export const common = { environment: systemEnvironment, variables: {} };

/** A folder with a database, a place for its backups, and places for restores. */
export class Places {
  readonly data: string;
  readonly backups: string;
  readonly #folder: string;
  readonly #remove: () => Promise<void>;
  #restored = 0;

  private constructor(folder: string, remove: () => Promise<void>) {
    this.#folder = folder;
    this.#remove = remove;
    this.data = join(folder, "data");
    this.backups = join(folder, "backups");
  }

  static async make(): Promise<Places> {
    const { path, remove } = await temporaryFolder();
    return new Places(path, remove);
  }

  openData(options: OpenWithHooksOptions = {}): Promise<Database> {
    return openAlone(this.data, { tables, observers: [addUp], collectEveryMs: 0, ...options });
  }

  /** Makes one backup, as the command does without `--follow`. */
  backUp(options: { readonly keep?: number; readonly keepForMs?: number } = {}): Promise<BackupReport> {
    return backup(this.data, this.backups, { ...common, ...options });
  }

  /** Restores into a new folder, runs `use` on it, and removes it. */
  async restored<T>(
    at: number | Date | undefined,
    use: (db: Database, report: RestoreReport, folder: string) => Promise<T>,
  ): Promise<T> {
    const folder = join(this.#folder, `restored${this.#restored++}`);
    const report = await restore(this.backups, folder, { ...common, at });
    try {
      await using db = await openAlone(folder, { tables, observers: [addUp], collectEveryMs: 0 });
      return await use(db, report, folder);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  path(name: string): string {
    return join(this.#folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#remove();
  }
}
