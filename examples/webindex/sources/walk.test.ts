import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { walk } from "./walk.js";

test("after the maximum number of files, the whole folder is reported as not listed, including folders not yet visited", async () => {
  const folder = await temporaryFolder();
  try {
    for (const path of ["a", "b", "c"]) {
      await mkdir(join(folder.path, path));
      await writeFile(join(folder.path, path, "page.html"), path);
    }
    const options = { file: () => true, folder: () => true };
    expect((await walk(folder.path, options)).unlisted).toEqual([]);
    const { files, unlisted } = await walk(folder.path, { ...options, most: 2 });
    expect(files).toHaveLength(2);
    expect(unlisted).toMatchObject([{ path: "" }]);
  } finally {
    await folder.remove();
  }
});
