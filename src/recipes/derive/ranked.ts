import { float, tuple } from "../../index.js";

/** A value of `min`, `max` and `top`. Numbers come before strings, strings sort by their bytes. */
export type Rankable = number | string;

const numbers = tuple(float());
const numberMark = Buffer.of(0x10);
const stringMark = Buffer.of(0x20);

/** Returns bytes that sort as the values do. */
export function rankBytes(value: Rankable): Uint8Array {
  if (typeof value === "string") return Buffer.concat([stringMark, Buffer.from(value, "utf8")]);
  // -0 has a place of its own among float keys.
  return Buffer.concat([numberMark, numbers.encode([value === 0 ? 0 : value])]);
}

/** Compares two values by their order, without their bytes. */
export function compareRanked(one: Rankable, other: Rankable): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  if (typeof one === "string" && typeof other === "string") return compareText(one, other);
  return typeof one === "number" ? -1 : 1;
}

/** Compares texts by their UTF-8 bytes, as keys are ordered. */
function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one, "utf8"), Buffer.from(other, "utf8"));
}
