import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type KnownTables, knownTables } from "../../dashboard/index.js";
import { type Database, type OpenOptions, open } from "../../database/index.js";
import { sleep } from "../../environment/index.js";
import type { Cli } from "../cli.js";
import { type CoordinatorFlags, coordinatorOf } from "../input/coordinator-flags.js";
import { type App, loadApp } from "../input/module.js";
import { UsageError } from "../usage-error.js";

const lastMs = 1_000;

/** Which database a command is about. */
export interface DatabaseRequest {
  readonly location: string;
  /** Path of the module that declares tables and observers, where one was given. */
  readonly app?: string | undefined;
  /** Makes the database where there is none. Default: false. */
  readonly create?: boolean | undefined;
  /** Only reads: a folder that cannot be written here is opened `readOnly`. Default: false. */
  readonly reads?: boolean | undefined;
  /** What `open` is to be given besides. */
  readonly options?: ((app: App | undefined) => OpenOptions) | undefined;
  /** Where its coordinator is. Default: as the environment's variables say. */
  readonly coordinator?: CoordinatorFlags | undefined;
  /** Once `use` is over and this is aborted, the database is left as it is, unless it is closed within a second. */
  readonly abandon?: AbortSignal | undefined;
}

/** An open database, and the tables that the user may name. */
export interface OpenedDatabase extends KnownTables {
  readonly db: Database;
  readonly app: App | undefined;
}

/** Opens the database for as long as `use` runs. */
export async function withDatabase<T>(
  cli: Cli,
  request: DatabaseRequest,
  use: (opened: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const place = placeOf(request.location, cli.io.cwd);
  const app = request.app === undefined ? undefined : await loadApp(request.app, cli.io.cwd);
  const db = await open(place, {
    environment: cli.environment,
    coordinator: await coordinatorOf(cli, request.location, request.coordinator),
    create: request.create ?? false,
    readOnly: request.reads === true && (await cannotWrite(place)),
    // A command is over soon; collection is the business of workers, and of `gc`.
    collectEveryMs: 0,
    ...request.options?.(app),
  });
  try {
    return await use({ db, app, ...(await knownTables(db, app?.tables ?? [])) });
  } finally {
    await close(cli, db, request.abandon);
  }
}

/** Whether the folder or a file of LMDB's in it is there, and may not be written by this process. */
async function cannotWrite(place: string): Promise<boolean> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(place) && !place.startsWith("file://")) return false;
  const folder = place.startsWith("file://") ? fileURLToPath(place) : place;
  for (const path of [folder, join(folder, "data.mdb"), join(folder, "lock.mdb")]) {
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

/** What a module declares, for commands that write: observers must be registered before what they are to see. */
export function declaredBy(app: App | undefined): OpenOptions {
  return app === undefined ? {} : { tables: app.tables, observers: app.observers };
}

/** The location with its folder relative to where the command runs. */
export function placeOf(location: string, cwd: string): string {
  if (location.startsWith("memory:")) {
    throw new UsageError(
      "A database in memory lives in the program that opened it; commands take the folder of one on disk.",
    );
  }
  if (location.startsWith("file://")) return location;
  if (location.startsWith("file:")) return resolve(cwd, location.slice("file:".length));
  return /^[a-z][a-z0-9+.-]+:\/\//i.test(location) ? location : resolve(cwd, location);
}
