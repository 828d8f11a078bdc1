import { observer, table, text } from "percolatordb";
import { expect, onTestFinished, test } from "vitest";
import { engines, withDatabase } from "../support/databases.js";

const pages = table("pages", { title: text(), copy: text() });

test.each(engines)("any number of calls wait on one signal without a warning: $store, $commit", (variant) => {
  const warnings: Error[] = [];
  const listen = (warning: Error) => warnings.push(warning);
  process.on("warning", listen);
  onTestFinished(() => {
    process.off("warning", listen);
  });
  const copies = observer("copies", pages.title, async (tx, { row, value }) =>
    tx.set(pages.copy, row, value!),
  );
  return withDatabase(variant, { observers: [copies] }, async (db) => {
    const { signal } = new AbortController();
    const rows = Array.from({ length: 30 }, (_, index) => `row ${index}`);
    await Promise.all(rows.map((row) => db.transact((tx) => tx.set(pages.title, row, "title"), { signal })));
    await Promise.all(rows.map(() => db.drain()));
    await Promise.all(rows.map(() => db.drain({ signal })));
    await Promise.all(rows.map(() => db.idle({ signal })));
    // Node reports warnings in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  });
});
