import { SchemaError } from "../errors/index.js";
import { describeValue } from "./describe.js";
import { limits } from "./limits.js";

const pattern = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** What a name is for, as messages call it. */
export type NameOf = "table" | "column" | "observer" | "bulk load" | "feed";

/**
 * Throws a {@link SchemaError} unless `name` can name a table, column or observer. A name begins
 * with a letter or underscore. Letters, digits, underscores and hyphens follow. It has at most
 * `limits.nameLength` characters, and is not `__proto__`.
 */
export function checkName(of: NameOf, name: unknown): asserts name is string {
  const kind = of === "observer" ? "an observer" : `a ${of}`;
  if (typeof name !== "string") {
    throw new SchemaError(`The name of ${kind} must be a string, not ${describeValue(name)}`);
  }
  if (name.length > limits.nameLength) {
    throw new SchemaError(
      `${describeValue(name)} is too long to name ${kind}: at most ${limits.nameLength} characters`,
    );
  }
  if (!pattern.test(name)) {
    throw new SchemaError(
      `${describeValue(name)} cannot name ${kind}: use a letter or underscore, then letters, digits, underscores and hyphens`,
    );
  }
  // A row is a plain object with its columns' names as properties, and assigning `__proto__` would
  // change its prototype instead.
  if (name === "__proto__") throw new SchemaError(`"__proto__" cannot name ${kind}: use another name`);
}
