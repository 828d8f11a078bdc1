/**
 * A number without rounding: `units` times 2 to the power of `exponent`, which is never above 0.
 * Every finite double is such a number, and so is every sum of doubles. So sums do not depend on
 * their order, and a summand can be subtracted again without a trace.
 */
export interface ExactNumber {
  readonly units: bigint;
  readonly exponent: number;
}

export const exactZero: ExactNumber = { units: 0n, exponent: 0 };

const fractionBits = 52;
const lowestExponent = -1_074;
/** Bits that decide how a number is rounded to a double, with some to spare. */
const roundedBits = 64;

const double = new DataView(new ArrayBuffer(8));

/** Returns a finite number without rounding. */
export function exactOf(value: number): ExactNumber {
  if (Number.isSafeInteger(value)) return { units: BigInt(value), exponent: 0 };
  double.setFloat64(0, value);
  const bits = double.getBigUint64(0);
  const fraction = bits & ((1n << BigInt(fractionBits)) - 1n);
  const power = Number((bits >> BigInt(fractionBits)) & 0x7ffn);
  const units = power === 0 ? fraction : fraction | (1n << BigInt(fractionBits));
  const exponent = lowestExponent + Math.max(0, power - 1);
  return shortened(value < 0 ? -units : units, exponent);
}

export function addExact(one: ExactNumber, other: ExactNumber): ExactNumber {
  if (one.exponent === 0 && other.exponent === 0) return { units: one.units + other.units, exponent: 0 };
  const exponent = Math.min(one.exponent, other.exponent);
  return shortened(unitsAt(one, exponent) + unitsAt(other, exponent), exponent);
}

export function negated({ units, exponent }: ExactNumber): ExactNumber {
  return { units: -units, exponent };
}

/** Returns the nearest double, as IEEE 754 rounds: a tie goes to the even one. */
export function toNumber({ units, exponent }: ExactNumber): number {
  const isNegative = units < 0n;
  const size = isNegative ? -units : units;
  const excess = size.toString(16).length * 4 - roundedBits;
  if (excess <= 0 || exponent === 0) return Number(units) * 2 ** exponent;
  // `Number(units)` alone could be infinite, although the power of two makes the number small.
  const shift = BigInt(excess);
  const leading = size >> shift;
  // The lowest bit says that bits were cut off, so that a number just above a tie is not taken for it.
  const rounded = Number(leading << shift === size ? leading : leading | 1n) * 2 ** (exponent + excess);
  return isNegative ? -rounded : rounded;
}

/** Returns the number as text: `UNITS`, or `UNITSpEXPONENT`. */
export function formatExact({ units, exponent }: ExactNumber): string {
  return exponent === 0 ? String(units) : `${units}p${exponent}`;
}

/** Parses what {@link formatExact} returned. */
export function parseExact(text: string): ExactNumber {
  const [units, exponent = "0"] = text.split("p");
  return { units: BigInt(units!), exponent: Number(exponent) };
}

function unitsAt({ units, exponent }: ExactNumber, lower: number): bigint {
  return units << BigInt(exponent - lower);
}

/** Returns the number with the highest exponent that it can have, so that it stays short. */
function shortened(units: bigint, exponent: number): ExactNumber {
  if (units === 0n) return exactZero;
  if (exponent >= 0) return { units: units << BigInt(exponent), exponent: 0 };
  const lowest = (units & -units).toString(2).length - 1;
  const shift = Math.min(lowest, -exponent);
  return { units: units >> BigInt(shift), exponent: exponent + shift };
}
