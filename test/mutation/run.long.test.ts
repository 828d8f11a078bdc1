import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { root } from "../support/built/files.js";
import { ProgramProcess } from "../support/program-process.js";
import { isRunning } from "../support/running.js";
import { judged, SmallProject, sourcePath } from "./small-project.js";

const looping = `
import { test } from "vitest";
import { isFew } from "./count.js";
test("ends", () => { while (isFew(3)); });
`;

test("if a test never lets its process end, a mutant is killed by a deadline, and the report says so", async () => {
  const { verdict } = await judged({ "src/oracle/a.test.ts": looping }, { suiteTimeoutMs: 30_000 });
  expect(verdict).toMatchObject({ outcome: "killed", test: "near", isHang: true });
});

/** A program that never ends. It and its child process write into their folder without a pause. */
const busy = `
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { test } from "vitest";
import "./count.js";

const write = 'const { mkdirSync, writeFileSync } = require("node:fs"); for (let i = 0; ; i++) '
  + '{ mkdirSync("written", { recursive: true }); writeFileSync("written/" + i % 500, ""); }';
test("never ends", async () => {
  const child = spawn(process.execPath, ["--eval", write], { stdio: "ignore" });
  writeFileSync(process.env.TMPDIR + "/pids", process.pid + " " + child.pid);
  await new Promise(() => {});
}, 1_000_000);
`;

test.each(["SIGINT", "SIGTERM"] as const)("%s ends what runs, and then removes the copy", async (signal) => {
  await using project = await SmallProject.of({ "src/oracle/busy.test.ts": busy });
  project.commit();
  const script = join(root, "test", "mutation", "main.ts");
  const args = ["--root", project.root, "--only", sourcePath];
  const run = new ProgramProcess(script, args, { env: { TMPDIR: project.temporary } });
  const pidPath = join(project.temporary, "pids");
  await vi.waitUntil(() => existsSync(pidPath) || run.hasEnded, { timeout: 60_000 });
  expect(run.errors).toBe("");
  const copied = async () =>
    (await readdir(project.temporary)).filter((name) => name.startsWith("percolator-mutation-"));
  expect(await copied()).toHaveLength(1);
  const pids = (await readFile(pidPath, "utf8")).split(" ").map(Number);
  expect(pids).toHaveLength(2);
  try {
    process.kill(run.pid, signal);
    await vi.waitUntil(() => run.hasEnded, { timeout: 60_000 });
    expect(run.end).toBe(signal === "SIGINT" ? "130" : "143");
    expect(run.errors).toBe("");
    expect(await copied()).toEqual([]);
    await vi.waitUntil(() => !pids.some(isRunning), { timeout: 60_000 });
  } finally {
    for (const pid of [run.pid, ...pids].filter(isRunning)) process.kill(pid, "SIGKILL");
  }
});
