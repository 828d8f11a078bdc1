import { InvalidArgumentError } from "../../errors/index.js";

type Part = string | number | null;

/** Parts as one text that a page gives back; what it means is the server's alone. */
export function makeId(parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/** The parts of {@link makeId}, so many of them. */
export function readId(id: string, length: number): readonly Part[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(id, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts.length === length && parts.every(isPart)) return parts;
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError(
    `${JSON.stringify(id.slice(0, 100))} is not an id that this dashboard has given.`,
  );
}

function isPart(part: unknown): part is Part {
  return part === null || typeof part === "string" || typeof part === "number";
}
