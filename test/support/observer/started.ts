import { afterEach, expect } from "vitest";
import { openTest, type TestDatabase, type TestOptions } from "./context.js";

/**
 * Returns a function that opens databases with the options in common. They are closed after each test.
 * Unless it `mayFail`, nothing may have failed in the background.
 */
export function databasesOf(
  common: TestOptions = {},
  { mayFail = false } = {},
): (options: TestOptions) => Promise<TestDatabase> {
  const open: TestDatabase[] = [];
  afterEach(async () => {
    for (const db of open.splice(0)) {
      await db.close();
      if (!mayFail) expect(db.failures).toEqual([]);
    }
  });
  return async (options) => {
    const db = await openTest({ ...common, ...options });
    open.push(db);
    return db;
  };
}
