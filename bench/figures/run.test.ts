import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/support/databases.js";
import { collectGarbage } from "../../test/support/garbage.js";
import { until } from "../../test/support/waiting.js";
import { runCommand } from "./run.js";

const never = new AbortController().signal;
const manyMinutes = 600_000;

const isAlive = (id: number) => {
  // A process that has ended but was not waited for still exists as a zombie.
  const status = existsSync(`/proc/${id}/status`) ? readFileSync(`/proc/${id}/status`, "utf8") : "";
  return /^State:\s+[^ZX\s]/m.test(status);
};

test("a command that succeeds is done, and its output is kept", async () => {
  const lines: string[] = [];
  const script = "console.log('first'); console.error('last')";
  const ended = await runCommand(process.execPath, ["-e", script], {
    limitMs: manyMinutes,
    signal: never,
    onLine: (line) => lines.push(line),
  });
  expect(ended.outcome).toBe("done");
  expect(ended.output.split("\n").sort()).toEqual(["", "first", "last"]);
  expect(lines.sort()).toEqual(["first", "last"]);
});

test.each([
  { what: "ends with another code", command: process.execPath, args: ["-e", "process.exit(3)"] },
  { what: "is killed", command: process.execPath, args: ["-e", "process.kill(process.pid, 'SIGKILL')"] },
  { what: "is not there", command: "/nowhere/at/all", args: [] },
])("a command that $what has failed", async ({ command, args }) => {
  const { outcome } = await runCommand(command, args, { limitMs: manyMinutes, signal: never });
  expect(outcome).toBe("failed");
});

test("a command that was cancelled before is not started", async () => {
  const { outcome } = await runCommand("/nowhere/at/all", [], {
    limitMs: manyMinutes,
    signal: AbortSignal.abort(),
  });
  expect(outcome).toBe("cancelled");
});

test("a command that exceeds its time limit is ended", async () => {
  const ended = runCommand(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
    limitMs: 300,
    signal: never,
  });
  // Collects garbage while the command runs, because the timer of its time limit must survive that.
  setTimeout(collectGarbage);
  expect((await ended).outcome).toBe("too late");
});

/** A process with a child that left its process group. It writes both ids and does not end. */
const parent = (path: string) => `
  const { spawn } = require("node:child_process");
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { detached: true, stdio: "ignore" });
  child.unref();
  require("node:fs").writeFileSync(${JSON.stringify(path)}, process.pid + " " + child.pid + "\\n");
`;

test.skipIf(process.platform !== "linux")(
  "processes that have left the process group are ended too",
  async () => {
    const folder = await temporaryFolder();
    try {
      const path = join(folder.path, "ids");
      const cancelling = new AbortController();
      const script = `${parent(path)}; setInterval(() => {}, 1000)`;
      const running = runCommand(process.execPath, ["-e", script], {
        limitMs: manyMinutes,
        signal: cancelling.signal,
      });
      await until(() => existsSync(path) && readFileSync(path, "utf8").endsWith("\n"));
      const ids = readFileSync(path, "utf8").split(" ").map(Number);
      expect(ids.map(isAlive)).toEqual([true, true]);
      cancelling.abort();
      expect((await running).outcome).toBe("cancelled");
      expect(ids.map(isAlive)).toEqual([false, false]);
    } finally {
      await folder.remove();
    }
  },
);
