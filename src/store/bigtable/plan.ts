import { systemEnvironment } from "../../environment/index.js";
import { parseLocation } from "./location.js";
import type { BigtableStoreOptions } from "./options.js";
import { adminTransport, settle } from "./settings.js";
import type { TablePlan } from "./table/table-plan.js";
import { Tables } from "./table/tables.js";

/**
 * Checks the tables of a database on Bigtable without changing anything. Fails if
 * `openBigtableStore` would fail, or if a table exists but cannot be used.
 */
export async function planTables(
  location: string,
  tables: readonly string[],
  options: BigtableStoreOptions = {},
): Promise<readonly TablePlan[]> {
  const place = parseLocation(location);
  const { deadlineMs, retryForMs, endpoint } = await settle(place, options);
  const admin = adminTransport(endpoint);
  try {
    const looking = new Tables({
      location: place,
      admin,
      emulator: endpoint.emulator,
      create: false,
      environment: options.environment ?? systemEnvironment,
      deadlineMs,
      retryForMs,
    });
    await looking.checkProfile();
    return await Promise.all(tables.map((table) => looking.plan(table)));
  } finally {
    admin.close();
  }
}
