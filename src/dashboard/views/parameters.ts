import { InvalidArgumentError } from "../../errors/index.js";
import type { AnyTable } from "../../schema/index.js";
import { RequestError } from "../server/failure.js";
import type { Shared } from "../sources/shared.js";
import type { KnownTables } from "../text/tables.js";

/**
 * A number of at least this size is a timestamp, in microseconds since 1970. A smaller number is a
 * time, in milliseconds since 1970.
 */
const minTimestamp = 1e14;

/** The checked query parameters of a request. An empty parameter counts as missing, unless it is a key. */
export class Parameters {
  readonly #given: URLSearchParams;
  readonly #tables: Shared<KnownTables>;

  constructor(given: URLSearchParams, tables: Shared<KnownTables>) {
    this.#given = given;
    this.#tables = tables;
  }

  text(name: string): string | undefined {
    const value = this.#given.get(name);
    return value === null || value === "" ? undefined : value;
  }

  /** A key, which may be empty. */
  key(name: string): string | undefined {
    return this.#given.get(name) ?? undefined;
  }

  /** A required parameter, which may be empty. */
  needed(name: string): string {
    const value = this.key(name);
    if (value !== undefined) return value;
    throw new InvalidArgumentError(`The parameter \`${name}\` is missing.`);
  }

  /** How many entries a page has at most. A larger number is reduced to `max`. */
  limit(usual = 100, max = 500): number {
    const limit = this.#number("limit", 1, `a whole number from 1 to ${max}`) ?? usual;
    return Math.min(limit, max);
  }

  oneOf<T extends string>(name: string, words: readonly T[]): T | undefined {
    const text = this.text(name);
    const found = words.find((word) => word === text);
    if (text === undefined || found !== undefined) return found;
    throw new InvalidArgumentError(
      `\`${name}\` must be one of ${words.join(", ")}, not ${JSON.stringify(text)}.`,
    );
  }

  /** The time of a view: a timestamp, or milliseconds since 1970. */
  at(): number | Date | undefined {
    const at = this.#number("at", 0, "a timestamp or milliseconds since 1970");
    return at === undefined || at >= minTimestamp ? at : new Date(at);
  }

  /** A whole number of 0 or more. */
  whole(name: string): number | undefined {
    return this.#number(name, 0, "a whole number");
  }

  #number(name: string, min: number, what: string): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (number >= min && Number.isSafeInteger(number)) return number;
    throw new InvalidArgumentError(`\`${name}\` must be ${what}, not ${JSON.stringify(text)}.`);
  }

  async table(): Promise<AnyTable> {
    const name = this.needed("table");
    const tables = await this.#tables.get();
    const table = tables.table(name);
    if (table !== undefined) return table;
    const known = tables.names.length === 0 ? "it has no tables yet" : `it has ${tables.names.join(", ")}`;
    throw new RequestError(404, "SCHEMA", `The database has no table ${JSON.stringify(name)}; ${known}.`);
  }
}
