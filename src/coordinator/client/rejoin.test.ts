import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { TestClock } from "../../testing/index.js";
import type { SessionRequest } from "../wire/messages.js";
import type { LeaderConnection } from "./leader-connection.js";
import { RemoteCluster } from "./remote-cluster.js";

test("a session that joins while another one leaves keeps its connection", async () => {
  const clock = new TestClock();
  const environment = clock.process();
  const steps: string[] = [];
  class Stream extends EventEmitter {
    write({ join, steps: told }: SessionRequest): void {
      for (const { type } of told) steps.push(type);
      queueMicrotask(() => this.emit("data", { epoch: join && "e", granted: [] }));
    }
    end(): void {
      environment.setTimer(() => this.emit("end"), 20); // the coordinator's acknowledgment
    }
    cancel(): void {}
  }
  const connection = {
    ask: async (
      _: string,
      signal: AbortSignal,
      question: (channel: object, signal: AbortSignal) => unknown,
    ) => question({ address: "a:1", open: () => new Stream() }, signal),
    failed: async (_: object, failure: unknown) => failure,
  };
  const cluster = new RemoteCluster({
    connection: connection as unknown as LeaderConnection,
    environment,
    attemptMs: 1_000,
    onFailure: () => undefined,
  });
  await clock.until(cluster.join("one"));
  const left = cluster.leave();
  await clock.until(cluster.join("two"));
  await clock.until(left);
  steps.length = 0;
  const told = Promise.resolve(cluster.busy());
  await clock.until(told);
  expect(steps).toEqual(["busy"]);
  await clock.until(cluster.leave());
});
