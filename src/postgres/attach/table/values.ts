import { InvalidValueError } from "../../../errors/index.js";
import { describeValue } from "../../../schema/index.js";

/** The types of SQL that a codec can hold, by the codec's tag. `undefined` stands for all. */
export const columnTypes: Readonly<Record<string, readonly string[] | undefined>> = {
  text: undefined,
  json: undefined,
  int: ["int2", "int4", "int8"],
  float: ["int2", "int4", "float4", "float8", "numeric"],
  boolean: ["bool"],
  bigint: ["int2", "int4", "int8"],
  date: ["date", "timestamp", "timestamptz"],
  bytes: ["bytea"],
};

/** The types whose values are the same key if and only if they are the same text. */
export const keyTypes: Readonly<Record<string, readonly string[]>> = {
  text: ["text", "varchar", "uuid", "enum", "int8"],
  int: ["int2", "int4", "int8"],
  boolean: ["bool"],
  bytes: ["bytea"],
};

/** A token of JSON other than a string: a bracket, a comma, a colon, or anything else. */
const token = /[{}[\],:]|[^\s{}[\],:"]+/y;
const space = /\s*/y;

/**
 * The members of a JSON object, each as its JSON text, so that numbers keep all their digits. The
 * server's own functions refuse texts with `\u0000`, which `json` may hold.
 */
export function membersOf(json: string): Readonly<Record<string, string>> {
  const members: Record<string, string> = {};
  let depth = 0;
  let name: string | undefined;
  let begin = 0;
  for (let at = 0; at < json.length; ) {
    space.lastIndex = at;
    space.exec(json);
    const from = space.lastIndex;
    token.lastIndex = from;
    const end = json[from] === '"' ? endOfString(json, from) : token.test(json) ? token.lastIndex : from;
    if (end === from) break;
    const found = json.slice(from, end);
    if (depth === 1 && name === undefined && found.startsWith('"')) name = JSON.parse(found) as string;
    else if (depth === 1 && found === ":") begin = end;
    else if (depth === 1 && (found === "," || found === "}")) {
      if (name !== undefined) members[name] = json.slice(begin, end - 1).trim();
      name = undefined;
    }
    if (found === "{" || found === "[") depth++;
    else if (found === "}" || found === "]") depth--;
    at = end;
  }
  return members;
}

/**
 * The end of the JSON string that begins at `from`. A regular expression would need a stack as long as
 * the string, which may have megabytes.
 */
function endOfString(json: string, from: number): number {
  for (let quote = json.indexOf('"', from + 1); quote > 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (json[quote - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return from;
}

/**
 * A column's value as PostgreSQL shows it: the string that is in the JSON, or the JSON itself, so
 * that a number keeps all its digits.
 */
export function shownText(raw: string): string {
  return raw.startsWith('"') ? (JSON.parse(raw) as string) : raw;
}

/** The value of a codec with this tag, from the JSON that PostgreSQL's `to_json` made. */
export function parsedValue(tag: string, raw: string): unknown {
  if (tag === "json") return JSON.parse(raw);
  const text = shownText(raw);
  switch (tag) {
    case "text":
      return text;
    case "boolean":
      return text === "true";
    case "bigint":
      return BigInt(text);
    case "bytes":
      return Buffer.from(text.slice(2), "hex");
    case "date": {
      const isDay = /^\d{4,}-\d\d-\d\d$/.test(text);
      // JavaScript reads a year of more than four digits only with a sign and six digits.
      const written = text.replace(/^\d{5,}(?=-)/, (year) => `+${year.padStart(6, "0")}`);
      const value = new Date(isDay || /(Z|[+-]\d\d(:?\d\d)?)$/.test(text) ? written : `${written}Z`);
      if (Number.isNaN(value.getTime())) throw new InvalidValueError(`"${text}" is not a date of JavaScript`);
      return value;
    }
    default: {
      const value = Number(text);
      if (Number.isNaN(value) && text !== "NaN") throw new InvalidValueError(`"${text}" is not a number`);
      if (tag === "int" && !Number.isSafeInteger(value)) {
        throw new InvalidValueError(`expected a safe integer (use text() for larger ones), not ${text}`);
      }
      if (!Number.isFinite(value) && /\d/.test(text)) {
        throw new InvalidValueError(
          `the number ${describeValue(text)} is too large for JavaScript, which has numbers to ${Number.MAX_VALUE}`,
        );
      }
      return value;
    }
  }
}
