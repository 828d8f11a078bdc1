import { systemEnvironment } from "../../environment/index.js";
import type { Part } from "../cell.js";
import { findEndpoint } from "./credentials.js";
import { parseLocation } from "./location.js";
import { type BigtableStoreOptions, callTimes } from "./open.js";
import { Tables } from "./tables.js";
import { Transport } from "./transport.js";

/** What is there of a table, and what is to be made. */
export interface TablePlan {
  readonly table: string;
  /** Its full name in Bigtable. */
  readonly path: string;
  readonly exists: boolean;
  /** Families that are missing: all where the table is. */
  readonly missing: readonly Part[];
}

/**
 * Looks at the tables of a database on Bigtable, and changes nothing. Fails as `openBigtableStore` does, and where a table is
 * there that cannot be used.
 */
export async function planTables(
  location: string,
  tables: readonly string[],
  options: BigtableStoreOptions = {},
): Promise<readonly TablePlan[]> {
  const place = parseLocation(location);
  const times = callTimes(options);
  const { admin: address, credentials, emulator } = await findEndpoint(options.emulatorHost, options.auth);
  const admin = new Transport({ address, credentials, connections: 1 });
  try {
    const looking = new Tables({
      location: place,
      admin,
      emulator,
      create: false,
      environment: options.environment ?? systemEnvironment,
      ...times,
    });
    await looking.checkProfile();
    return await Promise.all(tables.map((table) => looking.plan(table)));
  } finally {
    admin.close();
  }
}
