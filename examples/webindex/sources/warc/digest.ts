import { createHash, type Hash } from "node:crypto";

/** The algorithms that can be checked. Digests by other algorithms are accepted unchecked. */
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

const hexLengths = new Map([
  ["md5", 32],
  ["sha1", 40],
  ["sha256", 64],
  ["sha384", 96],
  ["sha512", 128],
]);

/** A digest as an archive records it: `sha1:` and base32, `md5:` and hexadecimal, and the like. */
export interface Digest {
  readonly label: string;
  /** One form for all spellings of the same digest: `sha1:` and hexadecimal. */
  readonly normal: string;
  hash(): Hash;
  /** Whether `hash`, which must use the same algorithm, gives this digest. Finishes the hash. */
  matches(hash: Hash): boolean;
}

/** Parses a digest. Returns `undefined` if there is none, or if its algorithm is unknown. */
export function parseDigest(label: string | undefined): Digest | undefined {
  const { name, value } = split(label);
  const algorithm = algorithms.get(name);
  if (label === undefined || !algorithm) return undefined;
  const hex = hexOf(value, hexLengths.get(algorithm)!);
  return {
    label,
    normal: `${algorithm}:${hex ?? value}`,
    hash: () => createHash(algorithm),
    matches: (hash) => hash.digest("hex") === hex,
  };
}

/**
 * Returns one form for all spellings of a digest, even if its algorithm is unknown. `undefined` if
 * there is none.
 */
export function normalDigest(label: string | undefined): string | undefined {
  const { name, value } = split(label);
  return name === "" || value === "" ? undefined : (parseDigest(label)?.normal ?? `${name}:${value}`);
}

/** The algorithm of a {@link normalDigest}, with its colon. */
export function algorithmOf(normal: string): string {
  return normal.slice(0, normal.indexOf(":") + 1);
}

/** Whether `bytes` have this digest. */
export function hasDigest(digest: Digest, bytes: Uint8Array): boolean {
  return digest.matches(digest.hash().update(bytes));
}

function split(label: string | undefined): { readonly name: string; readonly value: string } {
  const colon = label?.indexOf(":") ?? -1;
  if (label === undefined || colon < 0) return { name: "", value: "" };
  return { name: label.slice(0, colon).trim().toLowerCase(), value: label.slice(colon + 1).trim() };
}

/** Converts hexadecimal, base32 or base64 to hexadecimal. The three differ in length. */
function hexOf(value: string, length: number): string | undefined {
  const bare = value.replace(/=+$/, "");
  if (bare.length === length) return /^[0-9a-f]+$/i.test(bare) ? bare.toLowerCase() : undefined;
  const decoded =
    bare.length === Math.ceil((length * 4) / 5) ? fromBase32(bare) : Buffer.from(bare, "base64");
  return decoded?.length === length / 2 ? decoded.toString("hex") : undefined;
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

function fromBase32(text: string): Buffer | undefined {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const letter of text.toUpperCase()) {
    const digit = letters.indexOf(letter);
    if (digit < 0) return undefined;
    value = ((value << 5) | digit) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >>> bits) & 0xff);
  }
  return Buffer.from(bytes);
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
