import { statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { isObserver, type Observer } from "../observer/index.js";
import { type AnySchedule, isSchedule } from "../recipes/index.js";
import { type AnyTable, describeValue, isTable } from "../schema/index.js";
import { UsageError } from "./usage-error.js";

/** What a module of the user's declares. */
export interface App {
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
  readonly schedules: readonly AnySchedule[];
}

const typescript = new Set([".ts", ".mts", ".cts", ".tsx"]);

/**
 * Loads a module that default-exports `{ tables, observers, schedules }`, any of which may be left out. TypeScript is loaded whatever
 * Node itself can. The module finds this package by its own resolution; what it declares is known by its brand,
 * also if that is another copy of the package.
 */
export async function loadApp(path: string, cwd: string): Promise<App> {
  const file = resolve(cwd, path);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageError(`There is no module ${path}: give the path of a JavaScript or TypeScript file.`);
  }
  return checkApp(path, defaultExport(await importModule(path, file)));
}

async function importModule(path: string, file: string): Promise<unknown> {
  try {
    if (!typescript.has(extname(file))) return await import(pathToFileURL(file).href);
    const { createJiti } = await import("jiti");
    return await createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import(file);
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new UsageError(`The module ${path} could not be loaded: ${reason}`, "INVALID_ARGUMENT", error);
  }
}

/** A CommonJS module that was compiled from an ES module has its default export one level down. */
function defaultExport(module: unknown): unknown {
  const exported = property(module, "default");
  const inner = property(exported, "default");
  return inner !== undefined && property(exported, "__esModule") === true ? inner : exported;
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function checkApp(path: string, exported: unknown): App {
  const wanted = `the module ${path} must default-export { tables, observers, schedules }`;
  if (typeof exported !== "object" || exported === null) {
    throw new UsageError(`Nothing to use: ${wanted}, not ${describeValue(exported)}.`);
  }
  const tables = list(property(exported, "tables"), "tables", wanted, isTable);
  const observers = list(property(exported, "observers"), "observers", wanted, isObserver);
  const schedules = list(property(exported, "schedules"), "schedules", wanted, isSchedule);
  if (tables.length + observers.length + schedules.length === 0) {
    throw new UsageError(`Nothing to use: ${wanted}, at least one of them.`);
  }
  // A schedule's tables may be listed, and need not be.
  const all = new Set([...tables, ...schedules.flatMap((schedule) => schedule.tables)]);
  return { tables: [...all], observers, schedules };
}

function list<T>(
  value: unknown,
  name: string,
  wanted: string,
  is: (item: unknown) => item is T,
): readonly T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    throw new UsageError(`\`${name}\` must be an array, not ${describeValue(value)}: ${wanted}.`);
  }
  return value.map((item: unknown, index) => {
    if (is(item)) return item;
    throw new UsageError(`\`${name}[${index}]\` is ${describeValue(item)}, not one of ${name}: ${wanted}.`);
  });
}
