import { describe, expect, it } from "vitest";
import { seeded } from "../testing/site.js";
import { ExternalSort } from "./external-sort.js";
import { compareKeys } from "./order.js";

/** Records with many kinds of keys, in no order. The value is the record's number. */
function records(count: number): [string, string][] {
  const random = seeded(count);
  const letters = ["a", "b", " ", "\x01", "ü", "\uffff", "😀", "z"];
  return Array.from({ length: count }, (_, number) => {
    const length = random(6);
    return [Array.from({ length }, () => letters[random(letters.length)]).join(""), String(number)];
  });
}

function sorted(all: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  return [...all].sort(([a, x], [b, y]) => compareKeys(a, b) || compareKeys(x, y));
}

const read = (sort: ExternalSort) => [...sort.records()].map(({ key, value }) => [key, value]);

describe("a sort of more than fits into memory", () => {
  it.each([0, 1, 2, 1_000, 20_000])("%i records, in the same order as a sort in memory", (count) => {
    const all = records(count);
    for (const heldBytes of [200, 3_000, 10_000_000]) {
      if (heldBytes === 200 && count > 1_000) continue;
      using sort = new ExternalSort(heldBytes);
      let most = 0;
      for (const [key, value] of all) {
        sort.add(key, value);
        most = Math.max(most, sort.heldBytes);
      }
      expect(most).toBeLessThanOrEqual(heldBytes);
      expect(read(sort)).toEqual(sorted(all));
      // The records can be read repeatedly, and by two readers at a time.
      const [one, two] = [sort.records(), sort.records()];
      for (const [key] of sorted(all).slice(0, 5)) {
        expect(one.next().value?.key).toBe(key);
        expect(two.next().value?.key).toBe(key);
      }
      expect(read(sort)).toEqual(sorted(all));
    }
  });

  it("handles records that are longer than its memory limit, and values of any kind", () => {
    using sort = new ExternalSort(1_000);
    const all = [2, 0, 1, 3].map((number): [string, string] => [
      `k${number}`,
      `\0${"ü\n".repeat(number * 50_000)}`,
    ]);
    for (const [key, value] of all) sort.add(key, value);
    expect(read(sort)).toEqual(sorted(all));
  });

  it("can be added to after it was read", () => {
    using sort = new ExternalSort(100);
    for (let number = 0; number < 30; number++) {
      sort.add(String(number % 7), String(number));
      expect(read(sort)).toHaveLength(number + 1);
    }
  });
});
