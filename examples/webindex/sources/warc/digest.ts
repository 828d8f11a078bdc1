import { createHash, type Hash } from "node:crypto";

/** The algorithms that can be checked. A digest by another one is taken as given. */
const algorithms = new Map([
  ["md5", "md5"],
  ["sha1", "sha1"],
  ["sha-1", "sha1"],
  ["sha256", "sha256"],
  ["sha-256", "sha256"],
  ["sha384", "sha384"],
  ["sha-384", "sha384"],
  ["sha512", "sha512"],
  ["sha-512", "sha512"],
]);

/** A digest as an archive records it: `sha1:` and base32, `md5:` and hexadecimal, and the like. */
export interface Digest {
  readonly label: string;
  hash(): Hash;
  /** Whether `hash`, which this was made by, came to this digest. Ends the hash. */
  matches(hash: Hash): boolean;
}

/** `undefined` for no digest, and for an algorithm that is not known. */
export function parseDigest(label: string | undefined): Digest | undefined {
  const colon = label?.indexOf(":") ?? -1;
  if (label === undefined || colon < 0) return undefined;
  const algorithm = algorithms.get(label.slice(0, colon).trim().toLowerCase());
  if (!algorithm) return undefined;
  const value = label.slice(colon + 1).trim();
  return {
    label,
    hash: () => createHash(algorithm),
    matches: (hash) => spellings(hash.digest()).some((spelling) => spelling(value)),
  };
}

/** Whether `bytes` have this digest. */
export function hasDigest(digest: Digest, bytes: Uint8Array): boolean {
  return digest.matches(digest.hash().update(bytes));
}

function spellings(digest: Buffer): ((value: string) => boolean)[] {
  return [
    (value) => value.replace(/=+$/, "").toUpperCase() === base32(digest),
    (value) => value.toLowerCase() === digest.toString("hex"),
    (value) => value.replace(/=+$/, "") === digest.toString("base64").replace(/=+$/, ""),
  ];
}

/** RFC 4648, without padding. */
export function base32(bytes: Uint8Array): string {
  let text = "";
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= 5; bits -= 5) text += letters[(value >>> (bits - 5)) & 31];
    value &= 0xff;
  }
  return bits > 0 ? text + letters[(value << (5 - bits)) & 31] : text;
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
