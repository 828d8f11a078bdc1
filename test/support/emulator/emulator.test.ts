import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { isRunning } from "../running.js";
import { findEmulator } from "./find.js";
import { startEmulator, started } from "./index.js";

it("several start, each on a free port, and a stopped one is gone", async () => {
  const [first, second] = await Promise.all([startEmulator(), startEmulator()]);
  expect(first.host).not.toBe(second.host);
  expect([first, second].map((each) => isRunning(each.pid))).toEqual([true, true]);
  await Promise.all([first.stop(), second.stop()]);
  expect([first, second].map((each) => isRunning(each.pid))).toEqual([false, false]);
  await first.stop();
});

it.each(["pid 7\\nrunning on 127.0.0.1:8", "running on 127.0.0.1:8\\npid 7"])(
  "has a process id and an address in whichever order they arrive: %s",
  async (said) => {
    const child = spawn("sh", ["-c", `printf '${said}\\n'; cat`], { stdio: ["pipe", "pipe", "pipe"] });
    expect(await started(child, "sh")).toEqual({ pid: 7, host: "127.0.0.1:8" });
    child.stdin.end();
  },
);

it("a test cannot end its own process group, and so not the whole run", () => {
  expect(() => process.kill(0, "SIGKILL")).toThrow("process group");
  expect(() => process.kill(-1, "SIGTERM")).toThrow("process group");
  expect(process.kill(0, 0)).toBe(true);
});

it("stop throws if the emulator ended by itself, and not if a test ended it", async () => {
  const [died, killed] = await Promise.all([startEmulator(), startEmulator()]);
  process.kill(died.pid, "SIGKILL");
  killed.signal("SIGKILL");
  await killed.stop();
  while (isRunning(died.pid)) await new Promise((resolve) => setImmediate(resolve));
  await expect(died.stop()).rejects.toThrow("ended by itself");
});

it("the path from the environment is used, and a wrong path is an error", () => {
  expect(findEmulator({ PERCOLATOR_BIGTABLE_EMULATOR: process.execPath })).toBe(process.execPath);
  expect(() => findEmulator({ PERCOLATOR_BIGTABLE_EMULATOR: "/nowhere" })).toThrow("/nowhere");
  expect(findEmulator({ PATH: "/nowhere" })).toBeUndefined();
});
