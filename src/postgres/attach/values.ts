import { InvalidValueError } from "../../errors/index.js";

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
  text: ["text", "varchar", "uuid", "enum"],
  int: ["int2", "int4", "int8"],
  boolean: ["bool"],
  bytes: ["bytea"],
};

/** The value of a codec with this tag, from the text that PostgreSQL's `to_json` made. */
export function parsedValue(tag: string, text: string): unknown {
  switch (tag) {
    case "text":
      return text;
    case "json":
      return JSON.parse(text);
    case "boolean":
      return text === "true";
    case "bigint":
      return BigInt(text);
    case "bytes":
      return Buffer.from(text.slice(2), "hex");
    case "date": {
      const isDay = /^\d{4,}-\d\d-\d\d$/.test(text);
      const value = new Date(isDay || /(Z|[+-]\d\d(:?\d\d)?)$/.test(text) ? text : `${text}Z`);
      if (Number.isNaN(value.getTime())) throw new InvalidValueError(`"${text}" is not a date of JavaScript`);
      return value;
    }
    default: {
      const value = Number(text);
      if (Number.isNaN(value) && text !== "NaN") throw new InvalidValueError(`"${text}" is not a number`);
      return value;
    }
  }
}
