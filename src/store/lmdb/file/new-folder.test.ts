import { existsSync } from "node:fs";
import fs, { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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

test("a new folder in one that does not exist on a read-only file system is refused as such", async () => {
  const base = await mkdtemp(join(tmpdir(), "percolatordb-new-"));
  try {
    // What Node.js answers on such a file system.
    vi.spyOn(fs, "mkdir").mockImplementation((async (path: string, options?: { recursive: boolean }) => {
      if (existsSync(path)) return undefined;
      const code = options?.recursive || !existsSync(dirname(path)) ? "ENOENT" : "EROFS";
      throw Object.assign(new Error(code), { code });
    }) as typeof fs.mkdir);
    syncBuiltinESMExports();
    const made = prepareFolder(join(base, "a", "b", "data"), { create: true, readOnly: false });
    await expect(made).rejects.toThrow("The file system is read-only.");
  } finally {
    await rm(base, { recursive: true });
  }
});
