import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { systemEnvironment } from "../environment/index.js";
import { FolderStorage, flushFolder } from "./folder-storage.js";

let hasLinks = true;
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  return {
    ...real,
    link: (from: string, to: string) =>
      hasLinks
        ? real.link(from, to)
        : Promise.reject(Object.assign(new Error("operation not permitted"), { code: "EPERM" })),
  };
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
  hasLinks = has;
  const { path, remove } = await temporaryFolder();
  try {
    const storage = new FolderStorage(path, systemEnvironment);
    expect(await storage.create("lock.json", Buffer.from("first"))).toBe(true);
    expect(await storage.create("lock.json", Buffer.from("second"))).toBe(false);
    expect((await storage.get("lock.json"))?.toString()).toBe("first");
    expect(await readdir(path)).toEqual(["lock.json"]);
  } finally {
    hasLinks = true;
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
