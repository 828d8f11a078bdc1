import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { CommandLine, Printed } from "../../../test/support/command-line.js";
import { open, table, text } from "../../index.js";

afterEach(() => vi.unstubAllEnvs());

/**
 * Matches the escape sequences that set colours and font weights on a terminal, but not the
 * sequences that erase a progress line.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: what is looked for
const colours = /\u001b\[[\d;]*m/;

const pages = table("pages", { body: text() });

const commandLines = [
  ["--help"],
  ["scan", "--help"],
  ["set", "data", "pages.body", "b", "Hello"],
  ["scan", "data", "pages"],
  ["inspect", "data", "pages", "a"],
  ["status", "data"],
  ["doctor", "data"],
  ["export", "data", "all.jsonl.gz"],
  ["check", "data"],
  ["scan", "data", "nosuch"],
  ["nosuch"],
];

it.each([
  ["NO_COLOR", "1"],
  ["FORCE_COLOR", "3"],
])("prints no colours on a terminal, with %s=%s", async (name, value) => {
  vi.stubEnv(name, value);
  const cli = await CommandLine.create();
  const db = await open(join(cli.folder, "data"));
  await db.transact((tx) => tx.set(pages.body, "a", "Hello"));
  await db.close();
  for (const args of commandLines) {
    const [stdout, stderr] = [new Printed(100), new Printed(100)];
    await cli.run(args, { stdout, stderr });
    expect(`${stdout.text}${stderr.text}`).not.toBe("");
    expect(`${stdout.text}${stderr.text}`).not.toMatch(colours);
  }
});
