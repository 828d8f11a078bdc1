import { ObserverError, SchemaError } from "../../errors/index.js";
import {
  compareTables,
  describeTable,
  describeValue,
  mergeTables,
  type TableDefinition,
  type TableDescription,
} from "../../schema/index.js";
import { isObserver, type Observer } from "../observer.js";
import { isOf, type RegisteredObserver } from "./registered.js";
import type { RegistryView } from "./view.js";

/** Limits of the registry. Every process holds the whole registry in memory. */
export const registryLimits = Object.freeze({ tables: 1_000, observers: 1_000, columnsOfTable: 1_000 });

/** The records that tables and observers need. Empty if all are recorded already. */
export interface RegistrationPlan {
  readonly tables: readonly TableDescription[];
  readonly observers: readonly Observer[];
  /** Names of the observers that are new, as opposed to those with a new version. */
  readonly added: ReadonlySet<string>;
}

/**
 * Compares declarations with the registry. Throws if the declarations contradict the registry.
 * Changes nothing.
 */
export function planRegistration(
  view: RegistryView,
  tables: readonly TableDefinition[],
  observers: readonly Observer[],
): RegistrationPlan {
  const changed = planTables(view.tables, tables);
  const added = new Set<string>();
  const due = observers.filter((observer) => {
    const registered = view.observers.get(observer.name);
    if (registered === undefined) added.add(observer.name);
    return registered === undefined || isNewVersion(registered, observer);
  });
  checkCount("observers", view.observers.size + added.size, registryLimits.observers);
  return { tables: changed, observers: due, added };
}

function planTables(
  recorded: ReadonlyMap<string, TableDescription>,
  tables: readonly TableDefinition[],
): readonly TableDescription[] {
  const changed = new Map<string, TableDescription>();
  for (const declared of tables.map(describeTable)) {
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
  const names = new Set([...recorded.keys(), ...changed.keys()]);
  checkCount("tables", names.size, registryLimits.tables);
  return [...changed.values()];
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
