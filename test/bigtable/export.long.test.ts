import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CommandLine } from "../support/command-line.js";
import { type Emulator, startEmulator } from "../support/emulator/index.js";
import { documents, libraryCommandLine, withLibrary } from "../support/library.js";

const variable = "BIGTABLE_EMULATOR_HOST";
const before = process.env[variable];
let emulator: Emulator;

beforeAll(async () => {
  emulator = await startEmulator();
  process.env[variable] = emulator.host;
});
afterAll(async () => {
  if (before === undefined) delete process.env[variable];
  else process.env[variable] = before;
  await emulator.stop();
});

it("moves a folder to Bigtable and back, with nothing lost or changed", async () => {
  const cli: CommandLine = await libraryCommandLine();
  await withLibrary(cli, (db) =>
    db.transact((tx) => {
      for (let index = 0; index < 3_000; index++) tx.set(documents.title, `row ${index}`, `title ${index}`);
      for (let index = 0; index < 1_500; index++) tx.set(documents.anchors.at(`q${index}`), "wide", "x");
      tx.set(documents.thumbnail, "large", Buffer.alloc(300_000, 7));
    }),
  );
  const bigtable = "bigtable://project/instance?prefix=moved";
  const run = async (...args: string[]) => {
    const outcome = await cli.run(args);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    return outcome;
  };
  await run("export", "data", "first.jsonl.gz");
  const whole = await readFile(join(cli.folder, "first.jsonl.gz"));
  // The import is interrupted, then continued.
  const text = gunzipSync(whole).toString();
  const cut = await cli.run(["import", bigtable, "--coordinator", "auto"], {
    stdin: text.slice(0, Math.floor(text.length * 0.9)),
  });
  expect(cut.code).toBe(1);
  const { documents: reports } = await run(
    "import",
    bigtable,
    "first.jsonl.gz",
    "--coordinator",
    "auto",
    "--json",
  );
  expect(reports[0]!.continuedAt).toBeGreaterThan(0);
  await run("export", bigtable, "second.jsonl", "--coordinator", "auto");
  await run("import", "back", "second.jsonl");
  const rows = async (location: string) =>
    (await run("export", location)).lines.filter((line) => line.startsWith('{"table":'));
  const [original, back] = [await rows("data"), await rows("back")];
  expect(back.length).toBeGreaterThan(3_000);
  expect(back).toEqual(original);
  await run("doctor", bigtable, "--coordinator", "auto");
  await run("check", "back");
});
