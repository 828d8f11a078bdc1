import { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { recordFlushes } from "../../../../test/support/flushes.js";
import { prepareFolder } from "./folder.js";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test("the folders above a new database are flushed, as far as they are new", async () => {
  const flushed = recordFlushes();
  const base = await mkdtemp(join(tmpdir(), "percolatordb-new-"));
  try {
    const options = { create: true, readOnly: false };
    await prepareFolder(join(base, "a", "b", "data"), options);
    expect(flushed).toEqual([join(base, "a", "b"), join(base, "a"), base]);
    await prepareFolder(join(base, "a", "b", "data"), options);
    expect(flushed).toHaveLength(3);
  } finally {
    await rm(base, { recursive: true });
  }
});
