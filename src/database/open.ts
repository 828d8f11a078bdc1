import { type Environment, systemEnvironment } from "../environment/index.js";
import { parkedTable, Registry, Sessions } from "../observer/index.js";
import type { LeaderFailure } from "../oracle/index.js";
import { type AnyColumn, type AnyTable, definition, isTable } from "../schema/index.js";
import type { RowStore } from "../store/index.js";
import { hintTable, systemTable } from "../transaction/index.js";
import { known } from "./call-options.js";
import { checkDeclared } from "./check-declared.js";
import { readRetention, recordRetention } from "./collection/retention.js";
import { buildContext } from "./context.js";
import { Coordination } from "./coordination/coordination.js";
import { chooseCoordinator } from "./coordination/coordinator-choice.js";
import { Database } from "./database.js";
import { declared } from "./declared.js";
import { type Location, openStore } from "./location.js";
import { logEvents } from "./log.js";
import { checkOptions, checkSettings, type OpenOptions, type OpenWithHooksOptions } from "./options.js";
import { tablesWithSource } from "./sources.js";

/**
 * Opens the database at a location: `memory:`, a folder (`./data` or `file:./data`),
 * `postgres://USER@HOST/DATABASE?schema=SCHEMA`, `bigtable://PROJECT/INSTANCE`, or a `RowStore`.
 * Creates the folder or the schema if it does not exist. Records the given tables and registers the
 * given observers. If `open` rejects, it has recorded nothing, but it may have created the folder,
 * the schema or the system's own tables.
 *
 * @throws InvalidArgumentError if an option is invalid.
 * @throws StoreDamagedError, StoreVersionError or StoreError if the folder holds no usable
 * database.
 * @throws OracleUnavailableError if a coordinator assigns timestamps and none leads.
 * @throws CoordinatorError if the coordinator refuses this process.
 * @throws SchemaError or ObserverError if tables or observers contradict what is recorded.
 *
 * @example
 * await using db = await open("./data", { observers: [cluster] });
 */
export async function open(location: Location, options: OpenOptions = {}): Promise<Database> {
  return await openWithHooks(location, options);
}

/**
 * As `open`, for tests. `hooks`, such as a `StepHooks`, see each step of a commit before the store
 * does. They can delay a step, fail it, or answer in place of the store. `cacheMs` shortens
 * the waits that a cluster needs.
 *
 * @example
 * const hooks = new StepHooks();
 * await using db = await openWithHooks("memory:", { hooks, commit: "two-phase" });
 */
export async function openWithHooks(location: Location, given: OpenWithHooksOptions): Promise<Database> {
  const { hooks, cacheMs, ...options } = given ?? {};
  checkOptions(known("open", given === null ? given : options));
  checkDeclared(options);
  const environment = options.environment ?? systemEnvironment;
  const store = await openStore(location, options, environment);
  let coordination: Coordination | undefined;
  try {
    await store.prepare([systemTable, hintTable, parkedTable]);
    const failures = new Failures();
    coordination = await coordinate(store, environment, options, failures);
    return await openDatabase(store, environment, { ...options, hooks, cacheMs }, coordination, failures);
  } catch (error) {
    // The caller gets the original failure, even if closing fails too.
    await coordination?.close().catch(() => undefined);
    await store.close().catch(() => undefined);
    throw error;
  }
}

/**
 * Forwards background failures to `listener`, and drops those that occur before it is set. If such
 * a failure keeps `open` from continuing, `open` rejects with the failure as the cause.
 */
class Failures {
  listener: ((failure: LeaderFailure) => void) | undefined;

  readonly tell = (failure: LeaderFailure) => this.listener?.(failure);
}

async function coordinate(
  store: RowStore,
  environment: Environment,
  options: OpenOptions,
  { tell: onFailure }: Failures,
): Promise<Coordination | undefined> {
  const choice = chooseCoordinator(store, options.coordinator, options.oracle);
  if (choice === undefined) return undefined;
  const isOracle = store.atomic === undefined && options.oracle === undefined;
  return await Coordination.open({ store, environment, choice, isOracle, onFailure });
}

async function openDatabase(
  store: RowStore,
  environment: Environment,
  options: OpenWithHooksOptions,
  coordination: Coordination | undefined,
  failures: Failures,
): Promise<Database> {
  const { feeds = [], logger, cacheMs } = options;
  const { tables, observers } = declared(options);
  const recorded = await readRetention(store, options.retentionMs);
  const settings = checkSettings(options, recorded);
  const registry = new Registry({ store, environment, readOnly: settings.readOnly, cacheMs });
  const sessions = new Sessions({ store, environment, cluster: coordination?.cluster });
  const asked = { ...options, oracle: coordination?.oracle ?? options.oracle };
  const context = buildContext(store, environment, registry, sessions, asked, settings);
  failures.listener = (failure) => context.events.emit("backgroundFailure", failure);
  registry.attach(context);
  sessions.attach(context);
  sessions.declared = declaredNames([...tables, ...observers.map(({ target }) => target)]);
  if (logger !== undefined) logEvents(context.events, logger);
  await registry.register(tables, observers, feeds);
  if (!settings.readOnly) await registry.untilAllKnown(observers, feeds);
  // Recorded last, because it applies to every process: a failed `open` must not change it.
  if (!settings.readOnly) await recordRetention(store, environment, options.retentionMs, recorded);
  const withSource = tablesWithSource(tables, observers);
  return new Database({ store, withSource, context, registry, sessions, settings, observers, coordination });
}

/** What a program declares: the names of its tables, and of their columns after the table's. */
function declaredNames(of: readonly (AnyTable | AnyColumn)[]): readonly string[] {
  const tables = new Set(of.map((each) => (isTable(each) ? each[definition] : each.table)));
  return [...tables].flatMap(({ name, columns }) => [
    name,
    ...[...columns.keys()].map((column) => `${name}.${column}`),
  ]);
}
