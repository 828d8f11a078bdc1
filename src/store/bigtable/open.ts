import { systemEnvironment } from "../../environment/index.js";
import type { RowStore } from "../row-store.js";
import { parseLocation } from "./location.js";
import type { BigtableStoreOptions } from "./options.js";
import { adminTransport, settle } from "./settings.js";
import { BigtableStore } from "./store.js";
import { Tables } from "./table/tables.js";
import { Transport } from "./wire/transport.js";

/**
 * The minimum time limit of a request about tables, in milliseconds. Each table is checked only
 * once, so the check may take longer than a request about rows.
 */
const lookingMs = 10_000;

/**
 * Opens a database on Cloud Bigtable, at
 * `bigtable://PROJECT/INSTANCE?prefix=PREFIX&profile=APP_PROFILE`. The credentials are the
 * application default credentials: `GOOGLE_APPLICATION_CREDENTIALS`, those of `gcloud`, or the
 * metadata server. `BIGTABLE_EMULATOR_HOST` names an emulator. Each table is checked before its
 * first use. The location can have every option that is a number or a text, apart from
 * `emulatorHost`: `&connections=8&deadlineMs=5000`. An option takes precedence over the location.
 *
 * Fails with a `StoreError` if there are no credentials or the app profile cannot be used. The
 * first use of a table fails if the table has collection rules or cannot be created. Each message
 * says what to do.
 *
 * @example
 * const store = await openBigtableStore("bigtable://my-project/my-instance?prefix=search");
 */
export async function openBigtableStore(
  location: string,
  options: BigtableStoreOptions = {},
): Promise<RowStore> {
  const place = parseLocation(location);
  const { deadlineMs, retryForMs, endpoint, connections, maxInFlight } = await settle(place, options);
  const environment = options.environment ?? systemEnvironment;
  const { credentials, emulator } = endpoint;
  const transport = new Transport({ address: endpoint.data, credentials, connections, maxInFlight });
  const admin = adminTransport(endpoint);
  const tables = new Tables({
    location: place,
    admin,
    emulator,
    create: options.create ?? true,
    environment,
    deadlineMs: Math.max(deadlineMs, lookingMs),
    retryForMs: Math.max(retryForMs, lookingMs),
  });
  const gather = options.gather ?? true;
  const store = new BigtableStore({
    place,
    transport,
    admin,
    tables,
    environment,
    gather,
    deadlineMs,
    retryForMs,
    emulator,
  });
  try {
    await tables.checkProfile();
  } catch (error) {
    await store.close();
    throw error;
  }
  return store;
}
