import { open, type PendingChange } from "percolatordb";
import { expect, test } from "vitest";
import { knownTables } from "../../dashboard/index.js";
import { pendingLines } from "./observed-text.js";

test("a waiting change says whether it failed, or was only due while processes ended", async () => {
  await using db = await open("memory:");
  const opened = { db, app: undefined, ...(await knownTables(db, [])) };
  const second = (attempts: number, crashes: number, lastError?: string) => {
    const change: PendingChange = {
      observer: "titles",
      table: "pages",
      column: "body",
      qualifier: undefined,
      row: "a",
      since: new Date(0),
      timestamp: 0,
      attempts,
      crashes,
      notBefore: attempts === 0 ? undefined : new Date(3_000),
      lastError,
    };
    return pendingLines(opened, change, 1_000)[1];
  };
  expect(second(0, 0)).toBeUndefined();
  expect(second(1, 0, "Error: no")).toBe("  failed 1 time, next attempt in 2s: Error: no");
  expect(second(3, 1, "Error: no")).toBe("  failed 3 times, next attempt in 2s: Error: no");
  expect(second(1, 1)).toBe("  a process ended while it was due, next attempt in 2s");
  expect(second(2, 2)).toBe("  2 processes ended while it was due, next attempt in 2s");
});
