import { expect, test } from "vitest";
import { PagedIterator } from "./paged-iterator.js";

test("`return` during a pending `next` ends the reading of pages", async () => {
  let pages = 0;
  const iterator = new PagedIterator<never, never>(
    async () => {
      pages++;
      await new Promise((resolve) => setImmediate(resolve));
      return pages < 1_000 ? { items: [] } : undefined; // nothing is found
    },
    (item) => item,
    Number.POSITIVE_INFINITY,
  );
  const pending = iterator.next();
  await iterator.return();
  expect(await pending).toEqual({ done: true, value: undefined });
  expect(pages).toBeLessThan(10);
});
