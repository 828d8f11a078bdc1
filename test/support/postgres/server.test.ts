import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { temporaryFolder } from "../databases.js";
import { isRunning } from "../running.js";

const module = JSON.stringify(
  fileURLToPath(new URL("../../../examples/support/postgres-server.ts", import.meta.url)),
);

/** Starts a server in a process of its own, kills the process, and expects that nothing is left. */
async function expectNothingLeft(program: string, folder: string): Promise<void> {
  const code = `const { guardPostgres, startPostgres } = await import(${module}); ${program}`;
  const args = ["--import", "tsx", "--input-type=module", "--eval", code, folder];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const host = String((await once(child.stdout, "data"))[0]).trim();
  const pid = Number.parseInt(readFileSync(join(host, "data", "postmaster.pid"), "utf8"), 10);
  expect(isRunning(pid)).toBe(true);
  child.kill("SIGKILL");
  await expect.poll(() => existsSync(host) || existsSync(folder)).toBe(false);
  await expect.poll(() => isRunning(pid)).toBe(false);
}

test.each([
  ["of its own", "guardPostgres(process.argv[1]); console.log((await startPostgres()).host);"],
  [
    "that others share",
    `const fs = await import("node:fs");
     const file = process.argv[1] + "/host";
     guardPostgres(file, process.argv[1]);
     const { host } = await startPostgres({ outlives: true });
     fs.writeFileSync(file, host);
     console.log(host);`,
  ],
])("a killed process leaves no server %s", async (_, program) => {
  const folder = await temporaryFolder();
  try {
    await expectNothingLeft(program, folder.path);
  } finally {
    await folder.remove();
  }
});
