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
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });

async function start(address: string, session: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--import", "tsx", member, address, session], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout!, "data");
  return child;
}

test("a process that is killed, or stands still, has no session, and its work is free; one that goes on has it again", async () => {
  const coordinator = await startCoordinator({ store: memoryStore(), environment, leaseMs: 2_000 });
  const client = connectCoordinator({ environment, addresses: [coordinator.address] });
  const { cluster } = client;
  const children: ChildProcess[] = [];
  try {
    await cluster.join("witness");
    children.push(await start(coordinator.address, "a"));
    const [a] = children as [ChildProcess];
    expect(await cluster.alive("a")).toBe(true);
    expect(await cluster.claim(Buffer.from("claimed"))).toBe(false);
    a.kill("SIGSTOP");
    // Its connection stands; only its signs of life are missing.
    await soon(async () => expect(await cluster.alive("a")).toBe(false));
    expect(await cluster.activity()).toMatchObject({ turns: 1, busy: new Set() });
    a.kill("SIGCONT");
    await soon(async () => expect(await cluster.alive("a")).toBe(true));
    // What it did when it stopped it does still, and says so.
    expect(await cluster.activity()).toMatchObject({ turns: 2, busy: new Set(["a"]) });
    expect(await cluster.claim(Buffer.from("claimed"))).toBe(false);
    a.kill("SIGKILL");
    await soon(async () => expect(await cluster.alive("a")).toBe(false));
    expect(await cluster.claim(Buffer.from("claimed"))).toBe(true);
    expect((await cluster.activity())?.sessions).toEqual(new Set(["witness"]));
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await client.close();
    await coordinator.stop();
  }
});
