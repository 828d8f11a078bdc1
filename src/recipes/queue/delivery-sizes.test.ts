import { expect, test } from "vitest";
import { DeliverySizes } from "./delivery-sizes.js";

test("a failure of a key makes its next delivery one entry, and each success doubles it up to the most", () => {
  const sizes = new DeliverySizes(5);
  expect(sizes.of("a")).toBe(5);
  sizes.failed("a", false);
  const grown = [sizes.of("a")];
  for (let n = 0; n < 4; n++) {
    sizes.succeeded("a");
    grown.push(sizes.of("a"));
  }
  expect(grown).toEqual([1, 2, 4, 5, 5]);
  sizes.failed("a", false);
  expect(sizes.of("b")).toBe(5);
});

test("the keys of old failures are forgotten", () => {
  const sizes = new DeliverySizes(5);
  for (let n = 0; n <= 10_000; n++) sizes.failed(`${n}`, false);
  expect([sizes.of("0"), sizes.of("1"), sizes.of("10000")]).toEqual([5, 1, 1]);
});

test("a key whose delivery took too long is sent alone until it succeeds", () => {
  const sizes = new DeliverySizes(5);
  const alone = [sizes.isAlone("a")];
  sizes.failed("a", true);
  alone.push(sizes.isAlone("a"), sizes.isAlone("b"));
  sizes.succeeded("a");
  alone.push(sizes.isAlone("a"));
  sizes.failed("a", true);
  sizes.failed("a", false);
  alone.push(sizes.isAlone("a"));
  expect(alone).toEqual([false, true, false, false, false]);
});
