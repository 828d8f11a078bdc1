import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { extname, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { declared } from "../../database/index.js";
import { unlessAborted } from "../../environment/index.js";
import { isObserver, type Observer } from "../../observer/index.js";
import {
  type AnyDerivation,
  type AnyLookup,
  type AnySchedule,
  isDerivation,
  isLookup,
  isSchedule,
} from "../../recipes/index.js";
import { type AnyTable, describeValue, type Feed, isFeed, isTable } from "../../schema/index.js";
import { UsageError } from "../usage-error.js";

/** The declarations of a user's module. */
export interface App {
  readonly tables: readonly AnyTable[];
  readonly observers: readonly Observer[];
  readonly feeds: readonly Feed[];
  readonly schedules: readonly AnySchedule[];
  readonly derivations: readonly AnyDerivation[];
  /** Unique constraints and indexes. */
  readonly lookups: readonly AnyLookup[];
}

const typescript = new Set([".ts", ".mts", ".cts", ".tsx"]);

/**
 * Loads a module that default-exports `{ tables, observers, feeds, schedules, derivations, lookups }`. Each
 * of them may be missing. TypeScript works on every supported version of Node. The module may import
 * another copy of this package: the loader recognizes declarations by their brand. The call ends at
 * `signal`, although the module may still be loading.
 */
export async function loadApp(path: string, cwd: string, signal?: AbortSignal): Promise<App> {
  const file = resolve(cwd, path);
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
    throw new UsageError(`There is no module ${path}: give the path of a JavaScript or TypeScript file.`);
  }
  const module = await unlessAborted(importModule(path, file), signal, `Loading the module ${path}`);
  return checkApp(path, defaultExport(module));
}

async function importModule(path: string, file: string): Promise<unknown> {
  try {
    return await orNeverSettled(path, load(file));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `The module ${path} could not be loaded: ${reasonOf(error, file)}`,
      "INVALID_ARGUMENT",
      error,
    );
  }
}

async function load(file: string): Promise<unknown> {
  if (!typescript.has(extname(file))) return await import(pathToFileURL(file).href);
  const { createJiti } = await import("jiti");
  return await createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import(file);
}

/**
 * Throws if loading never settles. If a top-level `await` never resolves, Node would end the
 * process without a message.
 */
async function orNeverSettled(path: string, loading: Promise<unknown>): Promise<unknown> {
  let stop = () => {};
  const end = new Promise<never>((_, reject) => {
    const refuse = () => {
      const advice = "An `await` at its top level never settles.";
      reject(new UsageError(`The module ${path} could not be loaded: ${advice}`));
    };
    process.once("beforeExit", refuse);
    stop = () => process.off("beforeExit", refuse);
  });
  try {
    return await Promise.race([loading, end]);
  } finally {
    stop();
  }
}

/** Returns the error with the part of its stack that lies in the user's code. */
function reasonOf(error: unknown, file: string): string {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? error.message).split("\n");
  const own = lines.findIndex((line) => line.includes(import.meta.url) || line.includes(ownFile));
  const users = (own < 0 ? lines : lines.slice(0, own)).filter((line) => !loaderFrame.test(line));
  const place =
    error instanceof SyntaxError && !typescript.has(extname(file)) ? syntaxErrorPlace(file) : undefined;
  return [...users, ...(place === undefined ? [] : [`    at ${place}`])].join("\n").trim();
}

const ownFile = fileURLToPath(import.meta.url);
const loaderFrame = /^\s+at .*(node:internal|[\\/]jiti[\\/])/;

/**
 * Returns where a module, or one that it imports, has a syntax error. Node prints that place only
 * on the error stream. This function therefore imports the module in a child process and reads the
 * child's error stream. The import fails before Node executes any code of the module.
 */
export function syntaxErrorPlace(file: string): string | undefined {
  const program = `import ${JSON.stringify(pathToFileURL(file).href)};`;
  try {
    const { stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8",
      timeout: 10_000,
    });
    return /^file:\S+:\d+$/m.exec(stderr)?.[0];
  } catch {
    return undefined;
  }
}

/**
 * Returns the module's default export. In a CommonJS module compiled from an ES module, the default
 * export is nested once more.
 */
function defaultExport(module: unknown): unknown {
  const exported = property(module, "default");
  const inner = property(exported, "default");
  return inner !== undefined && property(exported, "__esModule") === true ? inner : exported;
}

function property(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}

function checkApp(path: string, exported: unknown): App {
  const must = "must default-export { tables, observers, feeds, schedules, derivations, lookups }";
  const wanted = `the module ${path} ${must}`;
  if (typeof exported !== "object" || exported === null) {
    throw new UsageError(`The module ${path} ${must}, not ${describeValue(exported)}.`);
  }
  const tables = list(property(exported, "tables"), "tables", wanted, isTable);
  const observers = list(property(exported, "observers"), "observers", wanted, isObserver);
  const feeds = list(property(exported, "feeds"), "feeds", wanted, isFeed);
  const schedules = list(property(exported, "schedules"), "schedules", wanted, isSchedule);
  const derivations = list(property(exported, "derivations"), "derivations", wanted, isDerivation);
  const lookups = list(property(exported, "lookups"), "lookups", wanted, isLookup);
  const lists = [tables, observers, feeds, schedules, derivations, lookups];
  if (lists.every(({ length }) => length === 0)) {
    throw new UsageError(`The module ${path} ${must}, and at least one of them must not be empty.`);
  }
  // What a schedule, a derivation or a lookup has counts as declared, so the module need not list it.
  const all = declared({ tables, observers, derivations, schedules, lookups });
  return { ...all, feeds, schedules, derivations, lookups };
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
