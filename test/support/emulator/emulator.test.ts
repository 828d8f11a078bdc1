import { expect, it } from "vitest";
import { findEmulator } from "./find.js";
import { startEmulator } from "./index.js";

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

it("several start, each on a free port, and a stopped one is gone", async () => {
  const [first, second] = await Promise.all([startEmulator(), startEmulator()]);
  expect(first.host).not.toBe(second.host);
  expect([first, second].map((each) => isRunning(each.pid))).toEqual([true, true]);
  await Promise.all([first.stop(), second.stop()]);
  expect([first, second].map((each) => isRunning(each.pid))).toEqual([false, false]);
  await first.stop();
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
