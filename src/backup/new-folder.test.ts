import fs, { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { recordFlushes } from "../../test/support/flushes.js";
import { inNewFolder } from "./new-folder.js";

/** Lets a function of the file system fail. */
function fail(name: "open" | "rm"): void {
  const error = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
  vi.spyOn(fs, name).mockRejectedValue(error);
  syncBuiltinESMExports();
}

function mend(): void {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
}

afterEach(mend);

async function parent(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "percolator-new-folder-"));
  onTestFinished(() => {
    mend();
    return rm(folder, { recursive: true });
  });
  return folder;
}

const write = async (work: string) => {
  const file = join(work, "data.mdb");
  await writeFile(file, "data");
  return { file, report: "done" };
};

describe("a database that is made in a folder", () => {
  it("survives a stop of the machine, and so do the folders that were made above it", async () => {
    const folder = await parent();
    const flushed = recordFlushes();
    const made = join(folder, "a", "b", "data");
    await inNewFolder(made, "restore", write);
    expect([...flushed].sort()).toEqual([folder, join(folder, "a"), join(folder, "a", "b"), made]);
  });

  it("leaves the folder as it was if the folder cannot be flushed", async () => {
    const folder = await parent();
    fail("open");
    const failure = { code: "BACKUP", message: expect.stringContaining("EIO") };
    await expect(inNewFolder(folder, "restore", write)).rejects.toMatchObject(failure);
    await expect(inNewFolder(join(folder, "new"), "restore", write)).rejects.toMatchObject(failure);
    expect(await readdir(folder)).toEqual([]);
  });

  it("is kept although its empty work folder cannot be removed", async () => {
    const folder = join(await parent(), "new");
    const made = inNewFolder(folder, "compaction", async (work) => {
      fail("rm");
      return await write(work);
    });
    expect(await made).toBe("done");
    mend();
    expect(await readdir(folder)).toEqual(["compacting", "data.mdb"]);
  });

  it("neither replaces nor removes a database that another process makes there meanwhile", async () => {
    const folder = join(await parent(), "new");
    const made = inNewFolder(folder, "restore", async (work) => {
      await writeFile(join(folder, "data.mdb"), "another");
      return await write(work);
    });
    await expect(made).rejects.toThrow("holds a database already");
    expect(await readdir(folder)).toEqual(["data.mdb"]);
  });
});
