import { expect, test } from "vitest";
import { MinHash } from "./minhash.js";

const functions = 512;

function equalShare(one: Uint8Array, other: Uint8Array): number {
  const [a, b] = [one, other].map(({ buffer }) => new Uint32Array(buffer)) as [Uint32Array, Uint32Array];
  return a.filter((value, index) => value === b[index]).length / a.length;
}

const wordsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, index) => `word${first + index}`).join(" ");

test("equal texts have equal signatures, and the share of equal parts is about that of shared shingles", () => {
  const hash = new MinHash(functions);
  const text = wordsFrom(0, 300);
  expect(equalShare(hash.signature(text), hash.signature(text))).toBe(1);
  // 150 words of 450 in common: nearly a third of all shingles.
  const overlap = equalShare(hash.signature(text), hash.signature(wordsFrom(150, 300)));
  expect(overlap).toBeGreaterThan(0.2);
  expect(overlap).toBeLessThan(0.45);
  expect(equalShare(hash.signature(text), hash.signature(wordsFrom(1_000, 300)))).toBeLessThan(0.02);
});

test("a text too short for a shingle has a signature too", () => {
  expect(new Uint32Array(new MinHash(4).signature("one two").buffer)).toEqual(
    new Uint32Array(4).fill(0xffff_ffff),
  );
});
