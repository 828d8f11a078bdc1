import { readFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CommandLine } from "../../../test/support/command-line.js";
import { UsageError } from "../usage-error.js";
import { type BadLine, BadLineFile } from "./bad-lines.js";

const bad = (line: number): BadLine => ({ line, column: null, reason: "é", text: "x" });
const textOf = (...lines: readonly number[]) =>
  lines.map((line) => `${JSON.stringify(bad(line))}\n`).join("");

it.each([
  ["at the end of a line", textOf(1).length + 1, textOf(1)],
  ["within a line", textOf(1).length + 5, textOf(1)],
  ["within the first line", 5, ""],
  ["behind the end", 10_000, textOf(1, 2)],
])("a report that is continued %s keeps whole lines only", async (_, bytes, kept) => {
  const cli = await CommandLine.create();
  await cli.write("bad.jsonl", textOf(1, 2));
  const path = join(cli.folder, "bad.jsonl");
  const file = await BadLineFile.open(path, bytes);
  await file.write([bad(3)]);
  expect(file.bytes).toBe(Buffer.byteLength(kept + textOf(3)));
  await file.close();
  expect(await readFile(path, "utf8")).toBe(kept + textOf(3));
});

it("a report that cannot be opened is refused with its name", async () => {
  const cli = await CommandLine.create();
  await expect(BadLineFile.open(cli.folder, 0)).rejects.toThrow(
    new UsageError(
      `The file ${cli.folder} cannot be written: EISDIR: illegal operation on a directory, open '${cli.folder}'`,
    ),
  );
  await expect(BadLineFile.open(devNull, 0)).rejects.toThrow(
    new UsageError(`${devNull} is not a file. Name a file with --bad.`),
  );
});

it("a report whose last line has no line end keeps the lines before it", async () => {
  const cli = await CommandLine.create();
  const path = await cli.write("bad.jsonl", textOf(1, 2).slice(0, -1));
  const file = await BadLineFile.open(path, 10_000);
  await file.write([bad(3)]);
  await file.close();
  expect(await readFile(path, "utf8")).toBe(textOf(1, 3));
});
