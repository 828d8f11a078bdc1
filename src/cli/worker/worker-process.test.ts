import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startWorkerProcess } from "./worker-process.js";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "percolator-worker-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** After SIGTERM it sends a report, and it ends when its supervisor asks something. */
const program = `
  process.on("SIGTERM", () => process.send({ runs: {}, isObsolete: true }));
  process.on("disconnect", () => { console.log("disconnected"); process.exit(1); });
  process.on("message", () => { console.log("ended"); process.exit(0); });
  console.log("started");
`;

it("a process keeps its channel after a signal, and ends when it has finished", async () => {
  const file = join(folder, "worker.mjs");
  writeFileSync(file, program);
  const args = [process.execPath, file];
  const child = startWorkerProcess({ args, number: 1, cwd: folder, env: process.env, isRecorded: false });
  const lines: string[] = [];
  for await (const line of child.output) {
    lines.push(line);
    if (line !== "started") continue;
    expect(child.hasStarted).toBe(false);
    child.kill("SIGTERM");
    await expect.poll(() => child.isObsolete).toBe(true);
    expect(child.hasStarted).toBe(true);
    // The process ends without an answer.
    void child.ask({}, new AbortController().signal).catch(() => undefined);
  }
  expect(lines).toEqual(["started", "ended"]);
  expect(await child.ended).toEqual({ code: 0, signal: undefined });
  child.kill("SIGKILL");
});
