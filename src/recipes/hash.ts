/**
 * Hashes a text to a number from 0 to 2^32 - 1. Equal texts have equal hashes, and the hashes
 * spread evenly. Not for secrets.
 */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text, "utf8")) hash = Math.imul(hash ^ byte, 0x01000193);
  // Callers take a remainder of the hash. These steps carry a difference in the last bytes into all
  // bits.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
