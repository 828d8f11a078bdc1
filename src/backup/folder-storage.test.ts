import fs, { readdir, rm } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { systemEnvironment } from "../environment/index.js";
import { FolderStorage, flushFolder } from "./folder-storage.js";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test("a folder that cannot be flushed is an error, unless the system cannot flush folders", async () => {
  const { path, remove } = await temporaryFolder();
  try {
    await expect(flushFolder(join(path, "missing"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(flushFolder(path)).resolves.toBeUndefined();
  } finally {
    await remove();
  }
});

test.each([true, false])("a file is created once, if the file system has hard links: %s", async (has) => {
  if (!has) {
    const refusal = Object.assign(new Error("operation not permitted"), { code: "EPERM" });
    vi.spyOn(fs, "link").mockRejectedValue(refusal);
    syncBuiltinESMExports();
  }
  const { path, remove } = await temporaryFolder();
  try {
    const storage = new FolderStorage(path, systemEnvironment);
    expect(await storage.create("lock.json", Buffer.from("first"))).toBe(true);
    expect(await storage.create("lock.json", Buffer.from("second"))).toBe(false);
    if (!has) expect(fs.link).toHaveBeenCalled();
    expect((await storage.get("lock.json"))?.toString()).toBe("first");
    expect(await readdir(path)).toEqual(["lock.json"]);
  } finally {
    await remove();
  }
});

test("a folder may have a relative name of one character", async () => {
  const storage = new FolderStorage("b", systemEnvironment);
  try {
    await storage.put("lock.json", Buffer.from("x"));
    expect(await readdir("b")).toEqual(["lock.json"]);
  } finally {
    await rm("b", { recursive: true });
  }
});
