import type { IncomingMessage } from "node:http";
import { InvalidArgumentError } from "../../errors/index.js";
import type { AnyTable } from "../../schema/index.js";
import type { KnownTables } from "../text/tables.js";
import { RequestError } from "./failure.js";

/**
 * Timestamps count microseconds since 1970 and times count milliseconds: no number can mean both.
 */
const minTimestamp = 1e14;

/** The checked query parameters of a request. An empty parameter counts as missing. */
export class Parameters {
  readonly #given: URLSearchParams;

  constructor(given: URLSearchParams) {
    this.#given = given;
  }

  text(name: string): string | undefined {
    const value = this.#given.get(name);
    return value === null || value === "" ? undefined : value;
  }

  /** A required parameter, which may be empty. */
  needed(name: string): string {
    const value = this.#given.get(name);
    if (value !== null) return value;
    throw new InvalidArgumentError(`The parameter \`${name}\` is missing.`);
  }

  count(name: string, usual: number, max: number): number {
    const text = this.text(name);
    if (text === undefined) return usual;
    const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (count >= 1 && Number.isSafeInteger(count)) return Math.min(count, max);
    throw new InvalidArgumentError(
      `\`${name}\` must be a whole number from 1 to ${max}, not ${JSON.stringify(text)}.`,
    );
  }

  oneOf<T extends string>(name: string, words: readonly T[]): T | undefined {
    const text = this.text(name);
    const found = words.find((word) => word === text);
    if (text === undefined || found !== undefined) return found;
    throw new InvalidArgumentError(
      `\`${name}\` must be one of ${words.join(", ")}, not ${JSON.stringify(text)}.`,
    );
  }

  /** A timestamp, or milliseconds since 1970. */
  moment(name: string): number | Date | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(number)) return number >= minTimestamp ? number : new Date(number);
    throw new InvalidArgumentError(
      `\`${name}\` must be a timestamp or milliseconds since 1970, not ${JSON.stringify(text)}.`,
    );
  }

  table(tables: KnownTables): AnyTable {
    const name = this.needed("table");
    const table = tables.table(name);
    if (table !== undefined) return table;
    const known = tables.names.length === 0 ? "it has no tables yet" : `it has ${tables.names.join(", ")}`;
    throw new RequestError(404, "SCHEMA", `The database has no table ${JSON.stringify(name)}; ${known}.`);
  }
}

const maxBytes = 64 * 1_024;

/** The body of a request, which must be a JSON object. */
export async function readBody(request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new RequestError(415, "CONTENT_TYPE", "Send JSON, with `content-type: application/json`.");
  }
  const text = await readText(request);
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && !Array.isArray(body))
      return body as Record<string, unknown>;
  } catch {
    // Refused below.
  }
  throw new RequestError(400, "INVALID_ARGUMENT", "The body is not a JSON object.");
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // The request must outlive a refusal, or the client would see a broken connection and not the
  // reason.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) {
      const headers = { connection: "close" };
      throw new RequestError(413, "TOO_LARGE", `A body may have at most ${maxBytes} bytes.`, headers);
    }
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** A string in a body. */
export function stringOf(body: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || (typeof value === "string" && value.length <= 16_384)) return value;
  throw new RequestError(400, "INVALID_ARGUMENT", `\`${name}\` must be a string.`);
}
