import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/support/databases.js";
import { gather } from "../../../test/support/gather.js";
import { exportToFile, readExportFile } from "../index.js";

const { signal } = new AbortController();

async function withFile(use: (path: string) => Promise<void>): Promise<void> {
  const folder = await temporaryFolder();
  try {
    await use(join(folder.path, "entries.jsonl"));
  } finally {
    await folder.remove();
  }
}

test("two concurrent writers of a file do not mix their lines", async () => {
  await withFile(async (path) => {
    const deliver = async (key: string, length: number) => {
      const value = key.repeat(length);
      const entries = Array.from({ length: 3_000 }, (_, n) => ({ key, sequence: n + 1, value }));
      await exportToFile(path)(entries, { signal });
    };
    await Promise.all([deliver("a", 1_000), deliver("b", 1_100)]);
    const sequences: Record<string, number[]> = { a: [], b: [] };
    for await (const { key, sequence } of readExportFile(path)) sequences[key]?.push(sequence);
    const all = Array.from({ length: 3_000 }, (_, n) => n + 1);
    expect(sequences).toEqual({ a: all, b: all });
  });
});

test("a value may contain characters that other programs take for a line end", async () => {
  await withFile(async (path) => {
    const entry = { key: "a\u2029", sequence: 1, value: "a\u2028b\r\n" };
    await exportToFile(path)([entry], { signal });
    expect(await gather(readExportFile(path))).toEqual([entry]);
  });
});

test("half a line that ends with a whole object is no entry", async () => {
  await withFile(async (path) => {
    const entry = { key: "a", sequence: 1, value: { key: "x", sequence: 5, value: "y" } };
    await exportToFile(path)([entry], { signal });
    const line = await readFile(path, "utf8");
    await writeFile(path, line.slice(0, -2));
    expect(await gather(readExportFile(path))).toEqual([]);
    await exportToFile(path)([entry], { signal });
    expect(await gather(readExportFile(path))).toEqual([entry]);
  });
});
