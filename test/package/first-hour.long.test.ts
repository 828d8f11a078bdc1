import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { storyOf } from "../docs/story.js";
import { Packed, root } from "./packed.js";
import { type SecondTerminal, Terminal } from "./support/terminal.js";

/**
 * A new user's path: docs/first-hour.md from its first block to its last, in a fresh folder, in a
 * shell, with the package as npm packs it. It prints how many seconds that took, but sets no limit.
 */

const page = "docs/first-hour.md";

let packed: Packed;
beforeAll(async () => {
  packed = await Packed.create();
}, 600_000);
afterAll(() => packed?.remove());

test(`${page}: a new user's path`, async () => {
  const terminal = new Terminal(packed);
  const seconds: Record<string, number> = {};
  let second: SecondTerminal | undefined;
  const began = performance.now();
  const note = (what: string) => {
    seconds[what] ??= Math.round((performance.now() - began) / 100) / 10;
  };
  try {
    for (const step of storyOf(await readFile(join(root, page), "utf8"))) {
      const before = second;
      second = await terminal.take(step, second);
      if (step.type === "stop") expect(before!.shown).toMatch(/stopped after \d+ runs?\n/);
      if (step.type === "run" && step.commands.some((command) => command.startsWith("npm install")))
        note("installed");
      if (step.type === "run" && step.commands.includes("npx percolator scan ./data words"))
        note("first observer run seen");
    }
  } finally {
    second?.kill();
  }
  note("the whole page");
  expect(Object.keys(seconds)).toEqual(["installed", "first observer run seen", "the whole page"]);
  const told = Object.entries(seconds).map(([what, after]) => `${what} after ${after} s`);
  process.stdout.write(`${page}: ${told.join(", ")}\n`);
}, 600_000);
