import { InvalidValueError, NewerValueError, SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { findUnfit } from "./json-fit.js";

/*
 * A JSON value of version 1 is stored as its JSON text alone, as values of columns without versions
 * are. A newer value begins with `v`, its version in decimal digits, and `:`, then its JSON text. No
 * JSON text begins with `v`, so the stored bytes say which of the two they are.
 */

const mark = 0x76;
const colon = 0x3a;
const zero = 0x30;
/** A column whose shape changes every day reaches this after 2,700 years. */
const maxVersion = 999_999;
const maxPrefixBytes = "v999999:".length;

/**
 * Converts a value to the next or the previous version. Methods compare their parameters in both
 * directions, so a program may declare the type that the old value had.
 */
type Conversion = { convert(value: unknown): unknown }["convert"];

/** Conversions by the version from which they begin. */
export type Conversions = Readonly<Record<number, Conversion>>;

/** The options of `json`. */
export interface JsonOptions {
  /**
   * The version of the values' shape: an integer from 1 to 999,999. Raise it by one whenever the shape
   * changes. Values that were written without a version have version 1. Default: 1.
   */
  readonly version?: number | undefined;
  /**
   * How to read values of older versions: `upgrade[1]` makes a value of version 2 from one of
   * version 1, and so on up to `version`. Each function is synchronous, gives the same result each
   * time, and throws if it cannot convert the value. Default: none.
   */
  readonly upgrade?: Conversions | undefined;
  /**
   * The version in which this program writes, while older programs still read: at most `version`.
   * It needs a `downgrade` for each version above it, and an `upgrade` from it on. Default: `version`.
   */
  readonly writeVersion?: number | undefined;
  /**
   * How to write values in older versions: `downgrade[2]` makes a value of version 1 from one of
   * version 2. Default: none.
   */
  readonly downgrade?: Conversions | undefined;
}

/** The versions of a column's values. */
export interface ValueVersions {
  /** The newest version that the program can read. */
  readonly newest: number;
  /** The version that it writes. */
  readonly written: number;
}

/** The checked options. Throws a {@link SchemaError} if one is not valid. */
export function checkVersions(options: JsonOptions): ValueVersions {
  const { version = 1, upgrade = {}, writeVersion = version, downgrade = {} } = options;
  checkVersion("version", version, maxVersion);
  checkVersion("writeVersion", writeVersion, version);
  const upgrades = checkConversions("upgrade", upgrade, 1, version - 1);
  const gap = upgrades.find((from) => from < version - 1 && !upgrades.includes(from + 1));
  if (gap !== undefined) {
    throw new SchemaError(
      `json(): \`upgrade\` has a function from version ${gap}, but none from version ${gap + 1}: add it, so that values of version ${gap} reach version ${version}`,
    );
  }
  const downgrades = checkConversions("downgrade", downgrade, 2, version);
  for (let from = version; from > writeVersion; from--) {
    if (downgrades.includes(from)) continue;
    throw new SchemaError(
      `json(): to write version ${writeVersion}, \`downgrade\` needs a function from version ${from} to ${from - 1}`,
    );
  }
  if (writeVersion < version && !upgrades.includes(writeVersion)) {
    throw new SchemaError(
      `json(): to read what it writes in version ${writeVersion}, \`upgrade\` needs a function from version ${writeVersion} to ${writeVersion + 1}`,
    );
  }
  return { newest: version, written: writeVersion };
}

function checkVersion(name: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  throw new SchemaError(
    `json(): \`${name}\` must be an integer from 1 to ${most}, not ${describeValue(value)}`,
  );
}

function checkConversions(name: string, given: unknown, least: number, most: number): readonly number[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new SchemaError(
      `json(): \`${name}\` must be an object of functions by version, not ${describeValue(given)}`,
    );
  }
  return Object.entries(given).map(([key, convert]) => {
    const from = Number(key);
    if (!Number.isInteger(from) || from < least || from > most) {
      const range = most < least ? "the column has only version 1" : `it takes ${least} to ${most}`;
      throw new SchemaError(
        `json(): \`${name}\` has a function from version ${describeValue(key)}, but ${range}`,
      );
    }
    if (typeof convert === "function") return from;
    throw new SchemaError(`json(): \`${name}[${key}]\` must be a function, not ${describeValue(convert)}`);
  });
}

/** What stands before the JSON text of a value. */
export function versionPrefix(version: number): string {
  return version === 1 ? "" : `v${version}:`;
}

/** The version of stored bytes, and where their JSON text begins. Undefined if it cannot be read. */
export function readVersion(
  buffer: Uint8Array,
  start: number,
  end: number,
): { readonly version: number; readonly at: number } | undefined {
  if (start >= end || buffer[start] !== mark) return { version: 1, at: start };
  let version = 0;
  const last = Math.min(end, start + maxPrefixBytes);
  for (let at = start + 1; at < last; at++) {
    const byte = buffer[at]!;
    if (byte === colon) return version > 1 ? { version, at: at + 1 } : undefined;
    const digit = byte - zero;
    if (digit < 0 || digit > 9 || (version === 0 && digit === 0)) return undefined;
    version = version * 10 + digit;
  }
  return undefined;
}

/** The error for a value that a newer program wrote. */
export function newerValueError(version: number, known: number): NewerValueError {
  return new NewerValueError(
    `the stored value has version ${version}, but this program reads versions up to ${known}: a newer program wrote it. ` +
      "Deploy that program here too. Next time, first deploy it everywhere with `writeVersion` set to the old version",
    { version, known },
  );
}

/** Converts a stored value from `version` to the newest one. */
export function upgradeValue(
  value: unknown,
  version: number,
  newest: number,
  upgrade: Conversions | undefined,
): unknown {
  let upgraded = value;
  for (let from = version; from < newest; from++) {
    const convert = upgrade?.[from];
    if (convert === undefined) {
      throw new InvalidValueError(
        `the stored value has version ${version}, and the column has no \`upgrade\` from version ${from} to ${from + 1}: ` +
          "add it to json(), or run `percolator migrate` with a program that has it",
      );
    }
    upgraded = converted("upgrade", convert, upgraded, from, from + 1);
  }
  return upgraded;
}

/** Converts a value from the newest version to the one that is written. */
export function downgradeValue(
  value: unknown,
  { newest, written }: ValueVersions,
  downgrade: Conversions | undefined,
): unknown {
  let downgraded = value;
  for (let from = newest; from > written; from--) {
    downgraded = converted("downgrade", downgrade![from]!, downgraded, from, from - 1);
  }
  return downgraded;
}

function converted(doing: string, convert: Conversion, value: unknown, from: number, to: number): unknown {
  const failed = (why: string, cause?: unknown) =>
    new InvalidValueError(`the column's ${doing} from version ${from} to ${to} ${why}`, { cause });
  let result: unknown;
  try {
    result = convert(value);
  } catch (cause) {
    throw failed(`failed: ${cause instanceof Error ? cause.message : describeValue(cause)}`, cause);
  }
  if (result instanceof Promise) {
    // No caller awaits this promise, so its rejection must not end the process.
    result.catch(() => undefined);
    throw failed("returned a promise: it must be synchronous");
  }
  const unfit = findUnfit(result);
  if (unfit !== undefined) throw failed(`returned a value that cannot be stored: ${unfit}`);
  return result;
}
