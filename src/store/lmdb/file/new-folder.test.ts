import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { prepareFolder } from "./folder.js";

const flushed: string[] = [];
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const open = async (...args: Parameters<typeof real.open>) => {
    const file = await real.open(...args);
    const sync = () => {
      flushed.push(String(args[0]));
      return Promise.resolve();
    };
    return Object.assign(file, { sync });
  };
  return { ...real, open };
});

test("the folders above a new database are flushed, as far as they are new", async () => {
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
