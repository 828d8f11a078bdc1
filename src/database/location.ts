import { fileURLToPath } from "node:url";
import type { Environment } from "../environment/index.js";
import { InvalidArgumentError, withoutPassword } from "../errors/index.js";
import { describeValue } from "../schema/index.js";
import type { RowStore } from "../store/index.js";
import type { OpenOptions } from "./options.js";

/**
 * The location of a database: `memory:`, a folder (also as `file:`),
 * `postgres://USER@HOST/DATABASE?schema=SCHEMA`, `bigtable://PROJECT/INSTANCE`, or a store that the
 * program made itself.
 */
export type Location = string | URL | RowStore;

/** Opens the store of a location. Loads the code of that store only. */
export async function openStore(
  location: Location,
  options: OpenOptions,
  environment: Environment,
): Promise<RowStore> {
  if (typeof location === "object" && !(location instanceof URL)) return checkStore(location);
  const place = location instanceof URL ? location.href : location;
  if (typeof place !== "string" || place === "") {
    throw new InvalidArgumentError(
      'A location is "memory:", a folder such as "./data", "postgres://USER@HOST/DATABASE", ' +
        `"bigtable://PROJECT/INSTANCE", or a \`RowStore\`, but ${describeValue(place)} was given.`,
    );
  }
  if (place === "memory:") {
    const { memoryStore } = await import("../store/memory/index.js");
    return memoryStore({ environment });
  }
  const { durability, noReadAhead, readOnly } = options;
  const create = readOnly ? false : options.create;
  if (place.startsWith("bigtable:")) {
    const { openBigtableStore } = await import("../store/bigtable/index.js");
    return await openBigtableStore(place, { environment, create });
  }
  if (isPostgres(place)) {
    const { openPostgresStore } = await import("../store/postgres/index.js");
    return await openPostgresStore(place, { environment, durability, readOnly, create });
  }
  const { openLmdbStore } = await import("../store/lmdb/index.js");
  return openLmdbStore(folderOf(place), { environment, durability, noReadAhead, readOnly, create });
}

/** Whether a location is on PostgreSQL. */
export function isPostgres(place: string): boolean {
  return /^postgres(ql)?:/.test(place);
}

/** The folder that a location names. Throws for the scheme of another store. */
export function folderOf(place: string): string {
  if (place.startsWith("file://")) {
    try {
      return fileURLToPath(place);
    } catch (error) {
      const reason = (error as Error).message;
      throw new InvalidArgumentError(
        `${withoutPassword(place)} names no folder of this machine (${reason}). Give its path, such as "./data".`,
      );
    }
  }
  if (place.startsWith("file:")) return place.slice("file:".length);
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(place)?.[1];
  if (scheme === undefined) return place;
  throw new InvalidArgumentError(
    `There is no store for locations that begin with "${scheme}:" (${withoutPassword(place)}). A location is "memory:", a folder such as ` +
      '"./data" or "file:./data", "postgres://USER@HOST/DATABASE", "bigtable://PROJECT/INSTANCE", or a `RowStore`.',
  );
}

function checkStore(store: RowStore): RowStore {
  if (typeof store?.readRow === "function" && typeof store.mutate === "function") return store;
  throw new InvalidArgumentError("The location is an object, but not a `RowStore`.");
}
