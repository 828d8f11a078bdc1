/**
 * Node's `crypto`, loaded at the first call. Loading it takes 5 ms of CPU time, and a program that
 * only declares tables never needs it.
 */
const crypto = () => process.getBuiltinModule("node:crypto");

/** The SHA-256 of a text, as 64 hexadecimal digits. */
export function sha256(text: string): string {
  return crypto().createHash("sha256").update(text).digest("hex");
}

/** A random UUID, version 4. */
export function randomUuid(): string {
  return crypto().randomUUID();
}
