import { existsSync } from "node:fs";
import { join } from "node:path";
import { isPostgres } from "../../database/index.js";
import type { Environment } from "../../environment/index.js";

/** The file of a folder's database. Other files in it, such as `lost+found`, are not a database. */
const dataFileName = "data.mdb";

/** Something that a database needs at its location, and whether it exists. */
export interface Need {
  readonly name: string;
  readonly path: string;
  readonly state: "there" | "missing" | "incomplete";
}

/** What the database at a location needs. `tables` counts on Bigtable only. */
export async function needsOf(
  place: string,
  tables: readonly string[],
  environment: Environment,
): Promise<readonly Need[]> {
  if (place.startsWith("bigtable:")) return await tableNeeds(place, tables);
  if (!isPostgres(place)) return [folderNeed(place)];
  const { findPostgresDatabase } = await import("../../store/postgres/index.js");
  const { description, state } = await findPostgresDatabase(place, { environment });
  return [{ name: "schema", path: description, state: state === "older" ? "incomplete" : state }];
}

/**
 * Where the folder or schema of a database is that does not exist. Undefined if it exists, and on Bigtable, where a
 * worker's account need not be allowed to look.
 */
export async function missingPlace(place: string, environment: Environment): Promise<string | undefined> {
  if (place.startsWith("bigtable:")) return undefined;
  const [need] = await needsOf(place, [], environment);
  return need?.state === "missing" ? need.path : undefined;
}

async function tableNeeds(place: string, tables: readonly string[]): Promise<readonly Need[]> {
  const { planTables } = await import("../../store/bigtable/index.js");
  const plans = await planTables(place, tables);
  return plans.map(({ table, path, exists, missing }) => {
    const state = !exists ? "missing" : missing.length > 0 ? "incomplete" : "there";
    return { name: `table ${table}`, path, state };
  });
}

function folderNeed(path: string): Need {
  return { name: "folder", path, state: existsSync(join(path, dataFileName)) ? "there" : "missing" };
}
