import { createServer } from "node:net";
import { expect, test } from "vitest";
import { startCoordinator } from "../coordinator/index.js";
import { type LeaderFailure, readLease } from "../oracle/index.js";
import { memoryStore } from "../store/memory/index.js";
import { TestClock } from "../testing/index.js";
import { CoordinatorStandIn } from "./coordinator-stand-in.js";

test("one that could not be started is started at a later look", async () => {
  const clock = new TestClock();
  const store = memoryStore({ atomicBatches: false });
  const place = { store, environment: clock.process() };
  const isLed = async () => ((await readLease({ ...place, timeoutMs: 1_000 }))?.name ?? "") !== "";
  const other = await startCoordinator(place);
  await expect.poll(isLed).toBe(true);

  const occupant = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => occupant.once("listening", resolve));
  const { port } = occupant.address() as { port: number };
  let told = (_: LeaderFailure) => {};
  const failed = new Promise<LeaderFailure>((resolve) => {
    told = resolve;
  });
  const choice = { start: true, listen: `127.0.0.1:${port}` };
  const standIn = new CoordinatorStandIn({ ...place, choice, onFailure: (failure) => told(failure) });
  await standIn.open(async () => true);
  await other.stop();
  await clock.advance(10_000);
  expect((await failed).error).toMatchObject({ message: expect.stringContaining("cannot listen") });

  await new Promise((resolve) => occupant.close(resolve));
  await clock.advance(5_000);
  await expect.poll(isLed).toBe(true);
  await standIn.close();
});
