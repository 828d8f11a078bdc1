import fc from "fast-check";
import { expect, test } from "vitest";
import {
  addExact,
  type ExactNumber,
  exactOf,
  exactZero,
  formatExact,
  negated,
  parseExact,
  toNumber,
} from "./exact-number.js";

const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const sum = (numbers: readonly number[]) => numbers.map(exactOf).reduce(addExact, exactZero);

/** The sum in units of 2^-1074, of which every double is a multiple. */
function unitsOf({ units, exponent }: ExactNumber): bigint {
  return units << BigInt(exponent + 1_074);
}

test("a number is kept without rounding, and comes back", () => {
  fc.assert(
    fc.property(finite, (value) => {
      expect(toNumber(exactOf(value))).toBe(value === 0 ? 0 : value);
      expect(toNumber(parseExact(formatExact(exactOf(value))))).toBe(value === 0 ? 0 : value);
    }),
    { numRuns: 2_000 },
  );
  for (const value of [Number.MIN_VALUE, Number.MAX_VALUE, 2 ** -1_022, 2 ** 53 + 2, 0.1, -0.1, 1e300]) {
    expect(toNumber(exactOf(value))).toBe(value);
  }
});

test("a sum does not depend on the order, and each summand can be subtracted again without a trace", () => {
  fc.assert(
    fc.property(fc.array(finite, { maxLength: 20 }), (numbers) => {
      const forwards = sum(numbers);
      expect(sum([...numbers].reverse())).toEqual(forwards);
      expect(unitsOf(forwards)).toBe(
        numbers.map((each) => unitsOf(exactOf(each))).reduce((a, b) => a + b, 0n),
      );
      const rest = numbers.map(exactOf).map(negated).reduce(addExact, forwards);
      expect(rest).toEqual(exactZero);
    }),
    { numRuns: 500 },
  );
});

test("a sum of two is rounded as the processor rounds it", () => {
  fc.assert(
    fc.property(finite, finite, (one, other) => {
      if (!Number.isFinite(one + other)) return;
      expect(toNumber(sum([one, other]))).toBe(one + other === 0 ? 0 : one + other);
    }),
    { numRuns: 2_000 },
  );
});

test("is rounded once: tenths add up, and a tie is decided by the bits below it", () => {
  expect(toNumber(sum(Array(10).fill(0.1)))).toBe(1);
  expect(toNumber(sum([2 ** 53, 1]))).toBe(2 ** 53);
  expect(toNumber(sum([2 ** 53, 1, 2 ** -1_000]))).toBe(2 ** 53 + 2);
  expect(toNumber(sum([-(2 ** 53), -1, -(2 ** -1_000)]))).toBe(-(2 ** 53) - 2);
  expect(toNumber(sum([1e308, 1e308, -1e308]))).toBe(1e308);
  expect(toNumber(sum([1e308, 1e308]))).toBe(Number.POSITIVE_INFINITY);
});
