import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { CommandLine } from "../../../test/support/command-line.js";
import { ExportFile } from "./export-file.js";

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it("a new file in a folder without permission is refused for that reason", async () => {
  const { folder } = await CommandLine.create();
  const { open } = fs;
  vi.spyOn(fs, "open").mockImplementation(async (path, flags) => {
    if (flags === "wx+") throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES" });
    return await open(path, flags);
  });
  syncBuiltinESMExports();
  await expect(ExportFile.open(join(folder, "all.jsonl"), false)).rejects.toThrow(
    "cannot be written: EACCES: permission denied",
  );
});
