import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { flushFolder } from "./folder-storage.js";

test("a folder that cannot be flushed is an error, unless the system cannot flush folders", async () => {
  const { path, remove } = await temporaryFolder();
  try {
    await expect(flushFolder(join(path, "missing"))).rejects.toMatchObject({ code: "ENOENT" });
    await expect(flushFolder(path)).resolves.toBeUndefined();
  } finally {
    await remove();
  }
});
