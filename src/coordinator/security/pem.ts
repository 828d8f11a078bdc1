import { InvalidArgumentError } from "../../errors/index.js";

/** A certificate or key as PEM text, or its bytes. */
export type Pem = string | Uint8Array;

/**
 * The bytes of a PEM. Throws for any other text, because TLS would silently ignore it. `what` is
 * the name of the option.
 */
export function pemOf(what: string, pem: Pem): Buffer {
  const bytes = Buffer.from(typeof pem === "string" ? Buffer.from(pem) : pem);
  if (bytes.includes("-----BEGIN ")) return bytes;
  throw new InvalidArgumentError(`\`${what}\` is not PEM text, which begins with -----BEGIN.`);
}

export function optionalPem(what: string, pem: Pem | undefined): Buffer | null {
  return pem === undefined ? null : pemOf(what, pem);
}
