import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { TestClock } from "../../testing/index.js";
import type { SessionRequest } from "../wire/messages.js";
import type { LeaderConnection } from "./leader-connection.js";
import { RemoteCluster } from "./remote-cluster.js";

/** A session that is accepted, and whose later requests get no answer. */
class SilentStream extends EventEmitter {
  requests = 0;

  write({ join }: SessionRequest): void {
    if (join === undefined) this.requests++;
    else queueMicrotask(() => this.emit("data", { epoch: "e", granted: [] }));
  }

  end(): void {
    this.emit("end");
  }

  cancel(): void {}
}

test("a claim counts as granted after 500 ms, also while it waits for earlier requests", async () => {
  const clock = new TestClock();
  const stream = new SilentStream();
  const connection = {
    ask: (_doing: string, signal: AbortSignal, question: (channel: object, signal: AbortSignal) => unknown) =>
      question({ address: "a:1", open: () => stream }, signal),
    failed: (_channel: object, failure: unknown) => failure,
  };
  const cluster = new RemoteCluster({
    connection: connection as unknown as LeaderConnection,
    environment: clock.process(),
    attemptMs: 1_000,
    onFailure: () => undefined,
  });
  await clock.until(cluster.join("s"));
  let granted = 0;
  for (let claim = 0; claim < 20; claim++) {
    void Promise.resolve(cluster.claim(Buffer.from([claim]))).then(() => granted++);
    await clock.settle();
  }
  expect(stream.requests).toBeLessThan(20);
  await clock.advance(500);
  expect(granted).toBe(20);
  await clock.until(cluster.leave());
});
