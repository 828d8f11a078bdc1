import { CoordinatorError } from "../../errors/index.js";
import { brokenMessage } from "./message-check.js";

/** A message of the other side: as it is meant, or why it cannot be. */
export type Received<T> = T | CoordinatorError;

/** How messages of one kind become bytes, and come from them. */
export interface Codec<T> {
  encode(message: T): Buffer;
  /** Never throws: what cannot be read is for the receiver to answer. */
  decode(bytes: Uint8Array): Received<T>;
}

/** `T` is the message as the package has it, `W` as it is on the wire. */
export function codec<W, T>(
  encodeWire: (wire: W) => Buffer,
  decodeWire: (bytes: Uint8Array) => W,
  toWire: (message: T) => W,
  fromWire: (wire: W) => T,
): Codec<T> {
  return {
    encode: (message) => encodeWire(toWire(message)),
    decode(bytes) {
      try {
        return fromWire(decodeWire(bytes));
      } catch (error) {
        if (error instanceof CoordinatorError) return error;
        return brokenMessage("it cannot be decoded", error);
      }
    },
  };
}
