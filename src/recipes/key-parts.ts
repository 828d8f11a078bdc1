import type { KeyPart } from "../index.js";

/** The codecs of a composite key's parts, as `tuple` takes them. */
export type KeyParts = readonly [KeyPart<unknown>, ...KeyPart<unknown>[]];

/** The type of the keys that have these parts. */
export type KeyOfParts<P extends KeyParts> = {
  readonly [I in keyof P]: P[I] extends KeyPart<infer V> ? V : never;
};
