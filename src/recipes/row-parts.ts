import { boolean, bytes, float, int, type KeyCodec, type KeyPart, text } from "../index.js";

/** The parts of a row key of a table, as the type of a longer key that ends with them. */
export type PartsOfRow<K> = unknown extends K
  ? readonly unknown[]
  : K extends readonly unknown[]
    ? K
    : readonly [row: string];

/**
 * Makes the row keys of one table a part of longer keys, such as those of an index. The longer keys
 * then sort as the rows do, which the text of a row key does not.
 */
export interface RowParts<K> {
  /** The codecs of the parts, as for `tuple`. */
  readonly codecs: readonly KeyPart<unknown>[];
  /** Returns the parts of a row key. */
  readonly of: (key: K) => readonly unknown[];
  /** Returns the row key that has these parts. */
  readonly keyOf: (parts: readonly unknown[]) => K;
}

const kinds: ReadonlyMap<string, KeyPart<unknown>> = new Map<string, KeyPart<unknown>>([
  ["text", text()],
  ["bytes", bytes()],
  ["int", int()],
  ["float", float()],
  ["boolean", boolean()],
]);

/** Returns the parts for a table's key codec. A string key is one part. */
export function rowParts<K>(codec: KeyCodec<K>): RowParts<K> {
  const tags = /^tuple\((.*)\)$/.exec(codec.tag)?.[1]?.split(",");
  return {
    codecs: (tags ?? ["text"]).map((tag) => kinds.get(tag)!),
    of: (key) => (tags === undefined ? [key] : (key as readonly unknown[])),
    keyOf: (held) => (tags === undefined ? held[0] : held) as K,
  };
}
