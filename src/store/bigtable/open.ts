import { systemEnvironment } from "../../environment/index.js";
import type { RowStore } from "../row-store.js";
import { parseLocation } from "./location.js";
import type { BigtableStoreOptions } from "./options.js";
import { adminTransport, settle } from "./settings.js";
import { BigtableStore } from "./store.js";
import { Tables } from "./table/tables.js";
import { Transport } from "./wire/transport.js";

/** Tables are looked at once; that may take longer than a request to rows. */
const lookingMs = 10_000;

/**
 * Opens a database on Cloud Bigtable, at `bigtable://PROJECT/INSTANCE?prefix=PREFIX&profile=APP_PROFILE`. Credentials are
 * found Google's way: `GOOGLE_APPLICATION_CREDENTIALS`, those of `gcloud`, the metadata server; `BIGTABLE_EMULATOR_HOST` names
 * an emulator. Tables are looked at before they are first used. Each option that is a number or a text, apart from `emulatorHost`, may
 * stand in the location instead: `&connections=8&deadlineMs=5000`. An option that is given here counts before the location.
 *
 * Fails with a `StoreError` where there are no credentials or the app profile is not one to use, and, when a table is first
 * used, where that has collection rules or cannot be made; each says what to do.
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
