import { SchemaError } from "../../errors/index.js";
import { describeValue } from "../describe.js";
import { buildCodec, type Codec, refuse } from "./codec.js";
import { encodeText, text } from "./scalars.js";

/**
 * One of some strings, stored as UTF-8. Another string is refused, when it is written and when it
 * is read. A choice may be added later; one that is taken away can no longer be read where it
 * stands. The database records that there is a choice and not what it is: commands that are not
 * given the module can read the column, and not write it.
 *
 * @throws SchemaError for no choices, or what is not a string.
 *
 * @example const orders = table("orders", { state: oneOf("open", "paid", "sent") });
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
    throw refuse(expected, value);
  };
  return buildCodec<string, "oneOf">(
    "oneOf",
    (value) => encodeText(checked(value)),
    (buffer, start, end) => checked(text().decodeRange!(buffer, start, end)),
  ) as Codec<C[number]>;
}
