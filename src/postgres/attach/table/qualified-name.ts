import { SchemaError } from "../../../errors/index.js";
import { describeValue } from "../../../schema/index.js";
import { quoteName } from "./definition.js";

/** The name of an SQL table with its schema. */
export interface QualifiedName {
  /** Quoted. */
  readonly sql: string;
  readonly table: string;
}

/** Reads a name as SQL writes it: `shop.orders`, or `"my shop"."orders"`. */
export function qualifiedName(source: unknown): QualifiedName {
  const part = /(?:"((?:[^"\0]|"")+)"|([a-z_][a-z0-9_]*))/y;
  const parts: string[] = [];
  if (typeof source === "string") {
    for (let at = 0; ; at = part.lastIndex + 1) {
      part.lastIndex = at;
      const found = part.exec(source);
      if (found === null) break;
      parts.push(found[1]?.replaceAll('""', '"') ?? found[2]!);
      if (part.lastIndex === source.length && parts.length === 2) {
        return { sql: parts.map(quoteName).join("."), table: parts[1]! };
      }
      if (source[part.lastIndex] !== ".") break;
    }
  }
  throw new SchemaError(
    `\`attach\` takes a schema and a table, such as "public.orders", not ${describeValue(source)}. ` +
      "Put a name into double quotes if it has anything but lower-case letters, digits and _.",
  );
}
