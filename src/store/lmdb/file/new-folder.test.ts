import fs, { mkdtemp, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { prepareFolder } from "./folder.js";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test("the folders above a new database are flushed, as far as they are new", async () => {
  const flushed: string[] = [];
  const { open } = fs;
  vi.spyOn(fs, "open").mockImplementation(async (...args) => {
    const file = await open(...args);
    const sync = async () => {
      flushed.push(String(args[0]));
    };
    return Object.assign(file, { sync });
  });
  syncBuiltinESMExports();
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
