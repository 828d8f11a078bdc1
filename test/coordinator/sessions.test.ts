import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { systemEnvironment } from "percolatordb";
import { memoryStore } from "percolatordb/memory";
import { expect, test, vi } from "vitest";
import { connectCoordinator, startCoordinator } from "../../src/coordinator/index.js";

const member = fileURLToPath(new URL("member.ts", import.meta.url));
const environment = systemEnvironment;

/** Some seconds, on a machine however busy: what it takes is looked at where the machine is known. */
const soon = <T>(check: () => Promise<T>) => vi.waitFor(check, { timeout: 60_000, interval: 20 });
/** Never over while the test lasts, however long the machine does other things. */
const leaseMs = 3_600_000;

async function start(address: string, session: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", member, address, session], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout!, "data");
  return child;
}

test("a process that is killed, or stands still, has no session, and its work is free; one that goes on has it again", async () => {
  const coordinator = await startCoordinator({ store: memoryStore(), environment, leaseMs });
  const client = connectCoordinator({ environment, addresses: [coordinator.address] });
  const { cluster } = client;
  const children: ChildProcess[] = [];
  try {
    await cluster.join("witness");
    children.push(await start(coordinator.address, "a"));
    const [a] = children as [ChildProcess];
    // Where an answer takes long, what is safe without it is believed: then it is asked again.
    const isTaken = () => soon(async () => expect(await cluster.claim(Buffer.from("claimed"))).toBe(false));
    await soon(async () => expect(await cluster.alive("a")).toBe(true));
    await isTaken();
    a.kill("SIGSTOP");
    // Its connection stands; only its signs of life are missing.
    await soon(async () => expect(await cluster.alive("a")).toBe(false));
    const before = await soon(async () => {
      const activity = await cluster.activity();
      expect(activity?.busy).toEqual(new Set());
      return activity!;
    });
    a.kill("SIGCONT");
    await soon(async () => expect(await cluster.alive("a")).toBe(true));
    // What it did when it stopped it does still, and says so.
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
