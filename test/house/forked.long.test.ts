import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ProgramProcess } from "../support/program-process.js";
import { isRunning } from "../support/running.js";
import { pause, until } from "../support/waiting.js";
import { forked } from "./forked.js";

test.each(["is loading", "works"])("every one ends when its parent is killed, while it %s", async (when) => {
  const scripts = [...forked, "src/cli/main.ts"];
  const parent = new ProgramProcess("test/support/forking-parent.ts", scripts);
  expect(await until(() => parent.lines.length === scripts.length)).toBe(true);
  const children = scripts.map((script, index) => ({ script, pid: Number(parent.lines[index]) }));
  const running = () => children.filter(({ pid }) => isRunning(pid)).map(({ script }) => script);
  try {
    if (when === "works") {
      for (const { pid } of children) await untilAtRest(pid);
      expect(running().length).toBeGreaterThan(forked.length / 2);
    }
    await parent.kill();
    await until(() => running().length === 0);
    expect(running()).toEqual([]);
  } finally {
    for (const { pid } of children) if (isRunning(pid)) process.kill(pid, "SIGKILL");
  }
});

/** Waits until a process has used no processor time for a while, or has been busy for long. */
async function untilAtRest(pid: number): Promise<void> {
  const ticks = () => readFileSync(`/proc/${pid}/stat`, "latin1").split(" ").slice(13, 15).join(" ");
  for (let look = 0, before = "", still = 0; isRunning(pid) && still < 3 && look < 50; look++) {
    await pause(200);
    if (!isRunning(pid)) return;
    const now = ticks();
    still = now === before && now !== "0 0" ? still + 1 : 0;
    before = now;
  }
}
