import { describe, expect, test } from "vitest";
import { drawsOf } from "./draws.js";
import {
  fnv1a,
  hashOf,
  scrambledItems,
  scrambledZeta,
  scrambledZipfian,
  zeta,
  zipfian,
  zipfianConstant,
} from "./zipfian.js";

describe("the sum of the zipfian distribution", () => {
  test("is that of its definition", () => {
    expect(zeta(1, 0.99)).toBe(1);
    expect(zeta(3, 0.99)).toBeCloseTo(1 + 0.5 ** 0.99 + (1 / 3) ** 0.99, 12);
  });

  test("of YCSB's ten billion items is YCSB's constant", () => {
    // Beyond the first items, the sum is an integral (Euler and Maclaurin).
    const first = 100_000;
    const power = 1 - zipfianConstant;
    const term = (item: number) => item ** -zipfianConstant;
    const rest =
      (scrambledItems ** power - first ** power) / power + (term(scrambledItems) - term(first)) / 2;
    expect(zeta(first, zipfianConstant) + rest).toBeCloseTo(scrambledZeta, 7);
  });
});

test("the hash is FNV-1a, by its published vectors", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  expect(fnv1a([])).toBe(0xcbf29ce484222325n);
  expect(fnv1a(bytes("a"))).toBe(0xaf63dc4c8601ec8cn);
  expect(fnv1a(bytes("foobar"))).toBe(0x85944171f73967e8n);
  expect(hashOf(0)).toBeGreaterThanOrEqual(0n);
  const signed = BigInt.asIntN(64, fnv1a([1, 2, 0, 0, 0, 0, 0, 0]));
  expect(hashOf(0x0201)).toBe(signed < 0n ? -signed : signed);
});

const draws = 200_000;

function countsOf(next: () => number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (let draw = 0; draw < draws; draw++) {
    const item = next();
    counts.set(item, (counts.get(item) ?? 0) + 1);
  }
  return counts;
}

describe("ranks", () => {
  const items = 1_000;
  const counts = countsOf(zipfian(items, drawsOf(1)));
  const share = (rank: number) => (counts.get(rank) ?? 0) / draws;
  const sum = zeta(items, zipfianConstant);

  test.each([0, 1])("%i is as frequent as its definition says", (rank) => {
    expect(share(rank)).toBeCloseTo((rank + 1) ** -zipfianConstant / sum, 2);
  });

  test("are between 0 and the number of items, and the first tenth has most draws", () => {
    expect([...counts.keys()].every((rank) => rank >= 0 && rank < items)).toBe(true);
    const first = Array.from({ length: items / 10 }, (_, rank) => share(rank));
    expect(first.reduce((all, each) => all + each, 0)).toBeCloseTo(zeta(100, zipfianConstant) / sum, 1);
  });
});

describe("scrambled records", () => {
  const records = 1_000;
  const counts = countsOf(scrambledZipfian(records, drawsOf(2)));

  test("are all in the table, and the most frequent is where the hash puts rank 0", () => {
    expect([...counts.keys()].every((record) => record >= 0 && record < records)).toBe(true);
    const [most] = [...counts].toSorted(([, one], [, other]) => other - one)[0]!;
    expect(most).toBe(Number(hashOf(0) % BigInt(records)));
  });

  test("have rank 0 with its share of the ten billion items", () => {
    const most = Math.max(...counts.values()) / draws;
    expect(most).toBeGreaterThan(1 / scrambledZeta - 0.005);
    expect(most).toBeLessThan(1 / scrambledZeta + 0.01);
  });

  test("are the same for the same seed, and others for another", () => {
    const drawn = (seed: number) => {
      const next = scrambledZipfian(records, drawsOf(seed));
      return Array.from({ length: 20 }, next);
    };
    expect(drawn(7)).toEqual(drawn(7));
    expect(drawn(7)).not.toEqual(drawn(8));
  });
});
