import { observer, open } from "percolatordb";
import { expect, it } from "vitest";
import { extract } from "../observers/extract.js";
import { documents, tables } from "../tables.js";
import { ReadCount } from "./reads.js";

const url = "https://example.org/";

it("counts a page once if the third attempt succeeds, after a conflict and a failure", async () => {
  let attempts = 0;
  const troubled = observer(
    extract.name,
    documents.contents,
    async (tx) => {
      tx.set(documents.title, url, "by the observer");
      attempts++;
      if (attempts === 1) await db.transact((other) => other.set(documents.title, url, "by another"));
      if (attempts === 2) throw new Error("not yet");
    },
    { backoff: { initialMs: 1 } },
  );
  await using db = await open("memory:", { tables, observers: [troubled] });
  const outcomes: string[] = [];
  db.on("run", ({ outcome }) => outcomes.push(outcome));
  const reads = new ReadCount(db);
  await db.transact((tx) => tx.set(documents.contents, url, Buffer.from("x")));
  await db.drain();
  expect(outcomes).toEqual(["conflict", "failed", "committed"]);
  expect(reads.count).toBe(1);
});
