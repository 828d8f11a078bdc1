import { CoordinatorError } from "../../errors/index.js";
import { brokenMessage } from "./message-check.js";

/** A received message, or the reason why it is invalid. */
export type Received<T> = T | CoordinatorError;

/** Encodes and decodes the messages of one kind. */
export interface Codec<T> {
  encode(message: T): Buffer;
  /** Never throws. The receiver answers an invalid message with an error. */
  decode(bytes: Uint8Array): Received<T>;
}

/** `T` is the message's type in this package. `W` is its type in the generated codec. */
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
