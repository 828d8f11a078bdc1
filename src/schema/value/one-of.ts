import { SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { buildCodec, type Codec, wrongTypeError } from "./codec.js";
import { encodeText, text } from "./scalars.js";

/**
 * One of a fixed set of strings, stored as UTF-8. Any other string is refused, on writes and on
 * reads. A program may add choices later. If it removes a choice, reads of stored values of that
 * choice fail.
 *
 * The database records the column as a choice, but not its strings. A command without the program's
 * module can read the column, but not write it.
 *
 * @throws SchemaError for no choices, or for a choice that is not a string.
 *
 * @example
 * const orders = table("orders", { state: oneOf("open", "paid", "sent") });
 */
export function oneOf<const C extends readonly [string, ...string[]]>(...choices: C): Codec<C[number]> {
  const wrong = (choices as readonly unknown[]).findIndex((choice) => typeof choice !== "string");
  if (choices.length === 0 || wrong >= 0) {
    const given = wrong < 0 ? "none" : describeValue(choices[wrong]);
    throw new SchemaError(
      `oneOf() takes the strings to choose from, such as oneOf("open", "closed"); not ${given}`,
    );
  }
  const known: ReadonlySet<string> = new Set(choices);
  const expected = choices.map(describeValue).join(" or ");
  const checked = (value: string): string => {
    if (known.has(value)) return value;
    throw wrongTypeError(expected, value);
  };
  return buildCodec<string, "oneOf">(
    "oneOf",
    (value) => encodeText(checked(value)),
    (buffer, start, end) => checked(text().decodeRange!(buffer, start, end)),
  ) as Codec<C[number]>;
}
