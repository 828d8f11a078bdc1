import type { Logger } from "percolatordb";
import { expect, it } from "vitest";
import { documents } from "./tables.js";
import { WebIndex } from "./webindex.js";

it("logs background failures to its logger", async () => {
  const said: string[] = [];
  let logger: Logger | undefined;
  const warned = new Promise<void>((resolve) => {
    const say = (message: string) => {
      said.push(message);
      resolve();
    };
    logger = { info: () => undefined, warn: say, error: say };
  });
  await using index = await WebIndex.open("memory:", { logger });
  const nothing = new Uint8Array(0);
  await index.db.transact((tx) => tx.set(documents.contents, "https://example.org/", nothing));
  await warned;
  expect(said[0]).toBe('A run of the observer "extract" failed');
});
