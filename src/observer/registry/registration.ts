import { ObserverError, SchemaError } from "../../errors/index.js";
import {
  type ColumnDescription,
  compareTables,
  describeTable,
  describeValue,
  type Feed,
  isFeed,
  mergeTables,
  type TableDefinition,
  type TableDescription,
} from "../../schema/index.js";
import { isObserver, type Observer } from "../observer.js";
import { wholeTable } from "./cells.js";
import { type DroppedRecords, droppedError } from "./dropped.js";
import { isOf, type RegisteredObserver } from "./registered.js";
import { followsSame } from "./registered-feed.js";
import type { RegistryView } from "./view.js";

/** Limits of the registry. Every process holds the whole registry in memory. */
export const registryLimits = Object.freeze({
  tables: 1_000,
  observers: 1_000,
  columnsOfTable: 1_000,
  feeds: 100,
});

/** The records that tables and observers need. Empty if all are recorded already. */
export interface RegistrationPlan {
  readonly tables: readonly TableDescription[];
  readonly observers: readonly Observer[];
  readonly feeds: readonly Feed[];
  /**
   * The observers and feeds that are new, as opposed to those with a new version or another
   * retention.
   */
  readonly added: ReadonlySet<Observer | Feed>;
}

/** What a program declares: its tables, observers and feeds. */
export interface Declarations {
  readonly tables: readonly TableDefinition[];
  readonly observers: readonly Observer[];
  readonly feeds: readonly Feed[];
}

/**
 * Compares declarations with the registry. Throws if the declarations contradict the registry.
 * Changes nothing.
 */
export function planRegistration(
  view: RegistryView,
  { tables, observers, feeds }: Declarations,
): RegistrationPlan {
  const changed = planTables(view, tables);
  const added = new Set<Observer | Feed>();
  const due = observers.filter((observer) => {
    const registered = view.observers.get(observer.name);
    if (registered === undefined) added.add(observer);
    return registered === undefined || isNewVersion(registered, observer);
  });
  checkCount("observers", view.observers.size + added.size, registryLimits.observers);
  const dueFeeds = planFeeds(view, feeds);
  for (const feed of dueFeeds) if (!view.feedRecords.has(feed.name)) added.add(feed);
  return { tables: changed, observers: due, feeds: dueFeeds, added };
}

/** The feeds that are new, or keep changes for another time than is recorded. */
function planFeeds(view: RegistryView, feeds: readonly Feed[]): readonly Feed[] {
  const due = feeds.filter((feed) => {
    const record = view.feedRecords.get(feed.name)?.record;
    if (record === undefined) {
      checkNoLoad(view, feed);
      return true;
    }
    if (!followsSame(record, feed)) {
      const recorded = record.columns.map(({ table, column }) => `${table}.${column}`).join(", ");
      throw new SchemaError(
        `Feed ${feed.name} contradicts its record in the database, which follows ${recorded}. Nothing was changed. Give the ` +
          "new feed another name, or remove the recorded one first with `db.removeFeed`.",
      );
    }
    return record.retentionMs !== feed.retentionMs;
  });
  const declared = [...view.feedRecords.values()].filter(({ record }) => !record.isLeased);
  const names = new Set([...declared.map(({ record }) => record.name), ...due.map(({ name }) => name)]);
  checkCount("feeds", names.size, registryLimits.feeds);
  return due;
}

function planTables(
  { tables: recorded, droppedRecords }: RegistryView,
  tables: readonly TableDefinition[],
): readonly TableDescription[] {
  const changed = new Map<string, TableDescription>();
  for (const declared of tables.map(describeTable)) {
    checkNotDropped(droppedRecords, declared);
    const before = changed.get(declared.name) ?? recorded.get(declared.name);
    if (before === undefined) {
      changed.set(declared.name, declared);
      continue;
    }
    const { additions, clashes, hasNewMarks } = compareTables(before, declared);
    if (clashes.length > 0) {
      throw new SchemaError(
        `Table ${declared.name} contradicts its record in the database: ${clashes.join("; ")}. Nothing was changed. ` +
          "Declare it as it is recorded, or use another name.",
      );
    }
    if (additions.length > 0 || hasNewMarks) changed.set(declared.name, mergeTables(before, declared));
  }
  for (const { name, columns } of changed.values()) {
    checkCount(`columns of table ${name}`, columns.length, registryLimits.columnsOfTable);
  }
  if (changed.size > 0) checkExpiry(new Map([...recorded, ...changed]));
  const names = new Set([...recorded.keys(), ...changed.keys()]);
  checkCount("tables", names.size, registryLimits.tables);
  return [...changed.values()];
}

/**
 * Throws if cells would expire without the rows that must be written with them: expiry knows only
 * the record, and not the recipe that writes both.
 */
function checkExpiry(tables: ReadonlyMap<string, TableDescription>): void {
  for (const { name, columns, writtenWith } of tables.values()) {
    if (writtenWith === undefined) continue;
    const { table, column: kept } = writtenWith;
    const expires = ({ ttlMs }: ColumnDescription) => typeof ttlMs === "number";
    const ofTable = columns.find(expires);
    const ofColumn = tables.get(table)?.columns.find((column) => column.name === kept && expires(column));
    if (ofTable === undefined && ofColumn === undefined) continue;
    const [expiring, other] =
      ofColumn === undefined
        ? [`${name}.${ofTable!.name}`, `column ${table}.${kept}`]
        : [`${table}.${kept}`, `table ${name}`];
    throw new SchemaError(
      `Column ${expiring} cannot have \`ttlMs\`: ${other} must be written together with it, as part of a unique constraint or an exact ` +
        "index, and expiry would delete only one of the two. Nothing was changed. Use a schedule that deletes the rows.",
    );
  }
}

/** Throws if a program still declares what was dropped. */
function checkNotDropped(dropped: DroppedRecords, { name, columns }: TableDescription): void {
  const records = dropped.get(name);
  if (records === undefined) return;
  const table = records.get(wholeTable);
  if (table !== undefined) throw droppedError(name, undefined, table);
  for (const column of columns) {
    const record = records.get(column.name);
    if (record !== undefined) throw droppedError(name, column.name, record);
  }
}

function checkCount(what: string, count: number, most: number): void {
  if (count <= most) return;
  throw new SchemaError(`A database takes at most ${most} ${what}, but this would make ${count}.`);
}

function isNewVersion(registered: RegisteredObserver, observer: Observer): boolean {
  const { record } = registered;
  const { name, target, version } = observer;
  if (!isOf(record, target)) {
    throw new ObserverError(
      `Observer "${name}" is registered for the ${record.kind} ${record.table}.${record.column}, so it cannot watch the ` +
        `${target.kind} ${target.table.name}.${target.name}: give it another name, or first unregister the old one.`,
    );
  }
  if (version < record.version) {
    throw new ObserverError(
      `Observer "${name}" is registered in version ${record.version}, but this program has the older version ${version}. Run the newer ` +
        "program, or raise `version` if this one must replace it.",
    );
  }
  return version > record.version;
}

/** Throws if a bulk load in progress would publish rows that the feed follows. */
function checkNoLoad(view: RegistryView, feed: Feed): void {
  for (const { name, ranges, state } of view.loadRecords) {
    if (state === "published") continue;
    const loaded = feed.columns.find(({ table }) => ranges.some((range) => range.table === table.name));
    if (loaded === undefined) continue;
    throw new SchemaError(
      `Feed ${feed.name} follows table ${loaded.table.name}, into which the bulk load "${name}" is loading rows. Declare the feed ` +
        "when the load is published or discarded.",
    );
  }
}

/** The feeds without duplicates. Throws if two different ones have the same name. */
export function distinctFeeds(feeds: readonly unknown[]): readonly Feed[] {
  const byName = new Map<string, Feed>();
  for (const each of feeds) {
    if (!isFeed(each)) {
      throw new SchemaError(`${describeValue(each)} is not a feed: make feeds with \`feed(name, columns)\`.`);
    }
    const other = byName.get(each.name);
    if (other !== undefined && other !== each) {
      throw new SchemaError(`Two feeds are named "${each.name}": give each a name of its own.`);
    }
    byName.set(each.name, each);
  }
  return [...byName.values()];
}

/** The observers without duplicates. Throws if two different ones have the same name. */
export function distinctObservers(observers: readonly unknown[]): readonly Observer[] {
  const byName = new Map<string, Observer>();
  for (const each of observers) {
    if (!isObserver(each)) {
      throw new ObserverError(
        `${describeValue(each)} is not an observer: make observers with \`observer(name, column, run)\`.`,
      );
    }
    const other = byName.get(each.name);
    if (other !== undefined && other !== each) {
      throw new ObserverError(
        `Two observers are named "${each.name}" (of ${targetName(other)} and of ${targetName(each)}): give each a name of ` +
          "its own.",
      );
    }
    byName.set(each.name, each);
  }
  return [...byName.values()];
}

function targetName({ target }: Observer): string {
  return `${target.table.name}.${target.name}`;
}
