import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { http, pageUrl, warcRecord } from "../testing/archive.js";
import { Scratch } from "../testing/files.js";

const child = fileURLToPath(new URL("../testing/read-child.ts", import.meta.url));
const tsconfig = fileURLToPath(new URL("../../../../tsconfig.json", import.meta.url));

/** Enough for the program itself, but not for a million small objects. */
const heapMegabytes = 64;
const million = 1_000_000;

/** Reads an archive as `readArchive` does, with less heap. */
async function read(...records: readonly Buffer[]): Promise<readonly string[]> {
  await using scratch = await Scratch.make();
  const path = await scratch.write("a.warc", Buffer.concat(records));
  const args = [`--max-old-space-size=${heapMegabytes}`, "--import", import.meta.resolve("tsx"), child, path];
  const env = { ...process.env, TSX_TSCONFIG_PATH: tsconfig };
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  return JSON.parse(stdout) as readonly string[];
}

test("a body of a million chunks needs no object for each", async () => {
  const payload = `${"1\r\na\r\n".repeat(million)}0\r\n\r\n`;
  const block = http(payload, { "Transfer-Encoding": "chunked" });
  expect(await read(warcRecord({ url: pageUrl(1), block }))).toEqual([`page ${pageUrl(1)}`]);
});

test("a header without an end is not read line by line", async () => {
  const block = Buffer.from(`HTTP/1.1 200 OK\r\n${"a\n".repeat(2 * million)}`);
  const [found, ...more] = await read(warcRecord({ url: pageUrl(1), block }));
  expect([found, more]).toEqual([expect.stringContaining("no HTTP response"), []]);
});
