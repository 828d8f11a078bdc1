import type { Reader, Writer } from "protobufjs/minimal.js";
import protobuf from "protobufjs/minimal.js";
import { CoordinatorError } from "../errors/index.js";
import { brokenMessage } from "./message-check.js";

/** A message of the other side: as it is meant, or why it cannot be. */
export type Received<T> = T | CoordinatorError;

/** How messages of one kind become bytes, and come from them. */
export interface Codec<T> {
  encode(message: T): Buffer;
  /** Never throws: what cannot be read is for the receiver to answer. */
  decode(bytes: Uint8Array): Received<T>;
}

/** What the generated code has of each kind of messages. */
interface Generated<W> {
  encode(message: W): Writer;
  decode(reader: Reader): W;
}

/** `T` is the message as the package has it, `W` as it is on the wire. */
export function codec<W, T>(
  generated: Generated<W>,
  toWire: (message: T) => W,
  fromWire: (wire: W) => T,
): Codec<T> {
  return {
    encode(message) {
      const bytes = generated.encode(toWire(message)).finish();
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    decode(bytes) {
      try {
        const reader = protobuf.Reader.create(bytes);
        reader.discardUnknown = true;
        return fromWire(generated.decode(reader));
      } catch (error) {
        if (error instanceof CoordinatorError) return error;
        return brokenMessage("it cannot be decoded", error);
      }
    },
  };
}
