import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

test("the command plays its runs in several processes, reports that nothing was violated, and ends", async () => {
  const args = ["--import", "tsx", main, "--runs", "4", "--processes", "2", "--seed", "ends"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 100_000 });
  expect(stdout).toMatch(/Happened: runs 4, /);
  expect(stdout).toMatch(/No violation; \d+ s\.\n$/);
});
