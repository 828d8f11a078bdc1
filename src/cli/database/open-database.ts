import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type KnownTables, knownTables } from "../../dashboard/index.js";
import { type Database, folderOf, isPostgres, type OpenOptions, open } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import type { Cli } from "../cli.js";
import { type CoordinatorFlags, coordinatorOf } from "../input/coordinator-flags.js";
import { type App, loadApp } from "../input/module.js";
import { UsageError } from "../usage-error.js";
import { missingPlace } from "./needs.js";

const lastMs = 1_000;

/** The database that a command opens, and how. */
export interface DatabaseRequest {
  readonly location: string;
  /** Path of the module that declares tables and observers, if the user gave one. */
  readonly app?: string | undefined;
  /** Whether to create the database if it does not exist. Default: false. */
  readonly create?: boolean | undefined;
  /**
   * Refuses what the user typed. Called before the database is created, with an empty one in memory. Default:
   * refuses nothing.
   */
  readonly check?: ((opened: OpenedDatabase) => Promise<unknown>) | undefined;
  /**
   * Whether the command only reads. If so, a folder that this process cannot write is opened with
   * `readOnly`. Default: false.
   */
  readonly reads?: boolean | undefined;
  /** Further options for `open`. */
  readonly options?: ((app: App | undefined) => OpenOptions) | undefined;
  /** Where the coordinator is. Default: as the environment variables say. */
  readonly coordinator?: CoordinatorFlags | undefined;
  /**
   * Limits closing to one second if this signal is aborted. After that second the command ends,
   * even if the database is still closing.
   */
  readonly abandon?: AbortSignal | undefined;
}

/** An open database, and the tables that the user may name. */
export interface OpenedDatabase extends KnownTables {
  readonly db: Database;
  readonly app: App | undefined;
  /** Where the database was created, if it did not exist. */
  readonly created?: string | undefined;
}

/** Opens the database, runs `use`, and closes the database. */
export async function withDatabase<T>(
  cli: Cli,
  request: DatabaseRequest,
  use: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const place = placeOf(request.location, cli.io.cwd);
  const app = request.app === undefined ? undefined : await loadApp(request.app, cli.io.cwd, cli.signal);
  const options = request.options?.(app);
  const created = request.create === true ? await missingPlace(place, cli.environment) : undefined;
  if (created !== undefined) {
    // An empty database in memory refuses what this one would refuse after it was created.
    await using db = await open("memory:", { environment: cli.environment, ...options, collectEveryMs: 0 });
    await request.check?.({ db, app, ...(await knownTables(db, app?.tables ?? [])) });
  }
  const db = await open(place, {
    environment: cli.environment,
    coordinator: await coordinatorOf(cli, request.location, request.coordinator),
    create: request.create ?? false,
    readOnly: request.reads === true && (await cannotWrite(place)),
    // Commands end soon, so they collect no garbage themselves. Workers and `gc` do.
    collectEveryMs: 0,
    ...options,
  });
  try {
    return await use({ db, app, created, ...(await knownTables(db, app?.tables ?? [])) });
  } finally {
    await close(cli, db, request.abandon);
  }
}

/**
 * Returns whether the folder, or one of LMDB's files in it, exists and is read-only for this
 * process.
 */
export async function cannotWrite(place: string): Promise<boolean> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) return false;
  for (const path of [place, join(place, "data.mdb"), join(place, "lock.mdb")]) {
    const code = await access(path, constants.W_OK).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    );
    if (code === "EROFS" || code === "EACCES" || code === "EPERM") return true;
  }
  return false;
}

async function close(cli: Cli, db: Database, abandon: AbortSignal | undefined): Promise<void> {
  const closed = db.close();
  if (!abandon?.aborted) return closed;
  await Promise.race([closed, sleep(cli.environment, lastMs)]);
}

/**
 * Returns the module's tables and observers as options of `open`, for commands that write. An
 * observer sees only changes that commit after its registration, so `open` must register the
 * observers before the command writes.
 */
export function declaredBy(app: App | undefined): OpenOptions {
  return app === undefined ? {} : { tables: app.tables, observers: app.observers, feeds: app.feeds };
}

/** Returns the location. A folder becomes its path, resolved against the working directory of the command. */
export function placeOf(location: string, cwd: string): string {
  if (location === "")
    throw new UsageError("The location is empty. Give the folder of a database, or a URL.");
  if (location.startsWith("memory:")) {
    throw new UsageError(
      "A database in memory exists only in the program that opened it. Give the folder of a database on disk.",
    );
  }
  if (location.startsWith("file:")) return resolve(cwd, folderOf(location));
  const isRemote = /^[a-z][a-z0-9+.-]+:\/\//i.test(location) || isPostgres(location);
  return isRemote ? location : resolve(cwd, location);
}
