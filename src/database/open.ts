import { systemEnvironment } from "../environment/index.js";
import { parkedTable, Registry, Sessions } from "../observer/index.js";
import { hintTable, systemTable } from "../transaction/index.js";
import { buildContext } from "./context.js";
import { Database } from "./database.js";
import { type Location, openStore } from "./location.js";
import { logEvents } from "./log.js";
import { checkOptions, checkSettings, type OpenOptions } from "./options.js";
import { settleRetention } from "./retention.js";

/**
 * Opens the database at a location: `memory:`, a folder (`./data`, `file:./data`; made where it is missing), or a
 * `RowStore`. Records the tables and registers the observers given.
 *
 * @throws InvalidArgumentError for options that cannot be meant; StoreDamagedError, StoreVersionError or StoreError where
 * the folder is not a database that can be used; SchemaError or ObserverError where tables or observers contradict what
 * is recorded. Nothing was changed then.
 *
 * @example
 * await using db = await open("./data", { observers: [cluster] });
 */
export async function open(location: Location, options: OpenOptions = {}): Promise<Database> {
  checkOptions(options);
  const environment = options.environment ?? systemEnvironment;
  const store = await openStore(location, options, environment);
  try {
    await store.prepare([systemTable, hintTable, parkedTable]);
    const settings = checkSettings(options, await settleRetention(store, environment, options.retentionMs));
    const registry = new Registry({ store, environment });
    const sessions = new Sessions({ store, environment });
    const context = buildContext(store, environment, registry, sessions, options, settings);
    registry.attach(context);
    sessions.attach(context);
    if (options.logger !== undefined) logEvents(context.events, options.logger);
    await registry.register(options.tables ?? [], options.observers ?? []);
    return new Database({ context, registry, sessions, settings, observers: options.observers ?? [] });
  } catch (error) {
    await store.close();
    throw error;
  }
}
