import { systemEnvironment } from "percolatordb";
import { openBigtableStore } from "percolatordb/bigtable";
import { expect, test } from "vitest";
import { type Coordinator, connectCoordinator, startCoordinator } from "../../src/coordinator/index.js";
import { startEmulator } from "../support/emulator/index.js";
import { pause, until } from "../support/waiting.js";

const environment = systemEnvironment;
const leaseMs = 1_000;

test("on Bigtable: timestamps rise across a change of leaders, and none are given while the store does not answer", async () => {
  await using emulator = await startEmulator();
  const openStore = () =>
    openBigtableStore("bigtable://project/instance?prefix=coordinator", {
      environment,
      emulatorHost: emulator.host,
      create: true,
      deadlineMs: 2_000,
    });
  const stores = [await openStore(), await openStore()] as const;
  const coordinators: Coordinator[] = [];
  for (const store of stores) coordinators.push(await startCoordinator({ store, environment, leaseMs }));
  const client = connectCoordinator({ environment, store: stores[1], retryForMs: 60_000 });
  const { oracle } = client;
  let last = 0;
  const take = async () => {
    const timestamps = await Promise.all(Array.from({ length: 100 }, () => oracle.next()));
    for (const timestamp of timestamps) {
      expect(timestamp).toBeGreaterThan(last);
      last = timestamp;
    }
  };
  try {
    await take();
    await until(() => coordinators.some(({ status }) => status.role === "leading"));
    const leader = coordinators.find(({ status }) => status.role === "leading")!;
    await leader.stop();
    await take();
    emulator.signal("SIGSTOP");
    await pause(1.5 * leaseMs);
    let isGiven = false;
    const taking = take().finally(() => {
      isGiven = true;
    });
    await pause(leaseMs);
    expect(isGiven).toBe(false);
    emulator.signal("SIGCONT");
    await taking;
    const other = coordinators.find((each) => each !== leader)!;
    expect(await until(() => other.status.role === "leading")).toBe(true);
  } finally {
    await client.close();
    for (const coordinator of coordinators) await coordinator.stop();
    for (const store of stores) await store.close();
  }
});
