import { InvalidArgumentError } from "../../errors/index.js";

/** A certificate or key as PEM text, or its bytes. */
export type Pem = string | Uint8Array;

/** The bytes; refuses what is no PEM, which TLS would ignore. `what`: the option that it is. */
export function pemOf(what: string, pem: Pem): Buffer {
  const bytes = Buffer.from(typeof pem === "string" ? Buffer.from(pem) : pem);
  if (bytes.includes("-----BEGIN ")) return bytes;
  throw new InvalidArgumentError(`\`${what}\` is no PEM: that begins with -----BEGIN.`);
}

export function optionalPem(what: string, pem: Pem | undefined): Buffer | null {
  return pem === undefined ? null : pemOf(what, pem);
}
