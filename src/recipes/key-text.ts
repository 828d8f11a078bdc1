import { InvalidKeyError, type KeyCodec } from "../index.js";

/**
 * Converts keys to text and back. Recipes hash this text, and use it in the keys of their own rows.
 */
export interface KeyText<K> {
  readonly format: (key: K) => string;
  readonly parse: (text: string) => K;
}

/**
 * Returns the conversion for a table's key codec: strings are unchanged, composite keys become
 * JSON.
 */
export function keyText<K>(codec: KeyCodec<K> | undefined): KeyText<K> {
  if (codec !== undefined) return { format: (key) => codec.format(key), parse: (text) => codec.parse(text) };
  return { format: checkedText, parse: (text) => text as K };
}

function checkedText(key: unknown): string {
  if (typeof key === "string") return key;
  throw new InvalidKeyError(
    `The key must be a string, not a value of type ${typeof key}. Other keys need the option \`key\`.`,
  );
}
