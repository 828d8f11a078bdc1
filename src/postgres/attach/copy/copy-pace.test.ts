import { expect, test } from "vitest";
import { int } from "../../../schema/index.js";
import { attach } from "../attach.js";
import { CopyPace } from "./copy-pace.js";

/** A pace, and the next chunk, which takes 10 ms. */
function paced() {
  let now = 0;
  const pace = new CopyPace({ monotonic: () => now });
  const chunk = (rest: number, { hasMore = true, pending = 0 } = {}) =>
    pace.run(async () => {
      now += 10;
      return { hasMore, pending, rest };
    });
  const pass = (ms: number) => {
    now += ms;
  };
  return { pace, chunk, pass };
}

test("a copy rests for a multiple of what its chunk took, while changes arrive", async () => {
  const { pace, chunk, pass } = paced();
  expect(pace.waitMs(false, false)).toBe(0);
  await chunk(5);
  expect(pace.waitMs(false, false)).toBe(0);
  pace.moved(0);
  expect(pace.waitMs(false, false)).toBe(0);
  pace.moved(1);
  expect(pace.waitMs(false, false)).toBe(50);
  pass(30);
  expect(pace.waitMs(false, false)).toBe(20);
  pass(30);
  expect(pace.waitMs(false, false)).toBe(0);
});

test("it does not rest if somebody waits, but leaves half of the time to changes that wait", async () => {
  const { pace, chunk } = paced();
  await chunk(5);
  pace.moved(1);
  expect(pace.waitMs(true, false)).toBe(0);
  expect(pace.waitMs(true, true)).toBe(10);
  expect(pace.waitMs(false, true)).toBe(50);
});

test("nothing waits for a copy that has ended", async () => {
  const { pace, chunk } = paced();
  await chunk(5, { hasMore: false });
  pace.moved(1);
  expect(pace.waitMs(false, true)).toBe(0);
});

test("chunks are small while changes arrive, and have a share of the pending changes, up to a bound", async () => {
  const { pace, chunk } = paced();
  expect(pace.rows(5)).toBe(500);
  pace.moved(1);
  expect(pace.rows(5)).toBe(50);
  expect(pace.rows(0)).toBe(500);
  await chunk(5, { pending: 20_000 });
  expect(pace.rows(5)).toBe(2_000);
  await chunk(5, { pending: 90_000 });
  expect(pace.rows(5)).toBe(5_000);
});

test.each([-1, Number.NaN, 1_001])("copyRest cannot be %s", (copyRest) => {
  expect(() => attach("public.orders", { columns: { total: int() }, copyRest })).toThrow(
    `attach public.orders: \`copyRest\` must be a number from 0 to 1000, not ${copyRest}.`,
  );
});

test("chunks stay small after one that did not fit into a transaction, and grow slowly until the copy ends", async () => {
  const { pace, chunk } = paced();
  expect(pace.rows(0)).toBe(500);
  pace.tooLarge(500);
  expect(pace.rows(0)).toBe(63);
  pace.tooLarge(63);
  expect(pace.rows(0)).toBe(8);
  await chunk(5);
  expect(pace.rows(0)).toBe(9);
  for (let at = 0; at < 100; at++) await chunk(5);
  expect(pace.rows(0)).toBe(500);
  pace.tooLarge(8);
  await chunk(5, { hasMore: false });
  expect(pace.rows(0)).toBe(500);
});
