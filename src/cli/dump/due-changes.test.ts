import { expect, it } from "vitest";
import { table, text } from "../../schema/index.js";
import { DueChanges } from "./due-changes.js";

it("refuses more bytes of due changes than an import reads, however few characters they are", async () => {
  const pages = table("pages", { body: text() });
  const row = "\u4e2d".repeat(480);
  let count = 0;
  async function* pending() {
    for (; count < 60_000; count++) {
      yield { observer: "o", table: "pages", row: `${count}${row}`, column: "body", qualifier: undefined };
    }
  }
  async function* parked() {}
  const db = { pending, parked };
  const tables = { names: ["pages"], table: () => pages };
  const due = new DueChanges();
  const { signal } = new AbortController();
  const adding = due.add(db as never, tables as never, new Set(["pages"]), signal);
  await expect(adding).rejects.toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(count).toBeGreaterThan(40_000);
});
