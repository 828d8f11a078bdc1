import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test, vi } from "vitest";
import { connectCoordinator, startCoordinator } from "../../src/coordinator/index.js";
import { nodeArguments } from "../support/built/files.js";

const member = fileURLToPath(new URL("member.ts", import.meta.url));
const environment = systemEnvironment;

/**
 * Repeats `check` until it passes, which usually takes some seconds. The limit is long for a busy
 * machine, because no test checks the time.
 */
const soon = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 20 });
/** Longer than the test, whatever delays the machine has. */
const leaseMs = 3_600_000;

async function start(address: string, session: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, nodeArguments(member, [address, session]), {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout!, "data");
  return child;
}

test("a process that is killed or paused loses its session and its claims; one that continues gets a session again", async () => {
  const coordinator = await startCoordinator({ store: memoryStore(), environment, leaseMs });
  const client = connectCoordinator({ environment, addresses: [coordinator.address] });
  const { cluster } = client;
  const children: ChildProcess[] = [];
  try {
    await cluster.join("witness");
    children.push(await start(coordinator.address, "a"));
    const [a] = children as [ChildProcess];
    // If the coordinator's answer takes too long, `claim` returns true, which is always safe. So
    // this repeats the call until it returns false.
    const isTaken = () => soon(async () => expect(await cluster.claim(Buffer.from("claimed"))).toBe(false));
    await soon(async () => expect(await cluster.alive("a")).toBe(true));
    await isTaken();
    a.kill("SIGSTOP");
    // Its connection is still open. Only its heartbeats are missing.
    await soon(async () => expect(await cluster.alive("a")).toBe(false));
    const before = await soon(async () => {
      const activity = await cluster.activity();
      expect(activity?.busy).toEqual(new Set());
      return activity!;
    });
    a.kill("SIGCONT");
    await soon(async () => expect(await cluster.alive("a")).toBe(true));
    // The process still does the work that it did when it was paused, and reports that.
    await soon(async () => {
      const activity = await cluster.activity();
      expect(activity?.busy).toEqual(new Set(["a"]));
      expect(activity?.busyPeriods).toBeGreaterThan(before.busyPeriods);
    });
    await isTaken();
    a.kill("SIGKILL");
    await soon(async () => expect(await cluster.alive("a")).toBe(false));
    expect(await cluster.claim(Buffer.from("claimed"))).toBe(true);
    await soon(async () => expect((await cluster.activity())?.sessions).toEqual(new Set(["witness"])));
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await client.close();
    await coordinator.stop();
  }
});
