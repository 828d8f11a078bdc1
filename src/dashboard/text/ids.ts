import { InvalidArgumentError } from "../../errors/index.js";

type Part = string | number | null;

/** Encodes parts as an opaque text, which a page sends back as it is. */
export function makeId(parts: readonly Part[]): string {
  return Buffer.from(JSON.stringify(parts)).toString("base64url");
}

/**
 * Decodes a text of {@link makeId}.
 *
 * @throws InvalidArgumentError unless it has exactly `length` parts.
 */
export function readId(id: string, length: number): readonly Part[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(id, "base64url").toString("utf8"));
    if (Array.isArray(parts) && parts.length === length && parts.every(isPart)) return parts;
  } catch {
    // Refused below.
  }
  throw new InvalidArgumentError(
    `${JSON.stringify(id.slice(0, 100))} is not an id of this dashboard. Take ids from its answers.`,
  );
}

function isPart(part: unknown): part is Part {
  return part === null || typeof part === "string" || typeof part === "number";
}
