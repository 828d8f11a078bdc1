import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { systemEnvironment } from "../../../environment/index.js";
import type { PostgresPool } from "./client.js";
import { Connections } from "./connections.js";

test("stores on one pool of the program share their listeners, until the last is closed", async () => {
  const pool = new EventEmitter();
  const open = () =>
    new Connections({
      pool: pool as unknown as PostgresPool,
      isOwn: false,
      environment: systemEnvironment,
      deadlineMs: 1,
      prepare: true,
      place: "here",
    });
  const counts = () => [pool.listenerCount("error"), pool.listenerCount("connect")];
  const first = open();
  pool.emit("connect", new EventEmitter());
  const others = Array.from({ length: 11 }, open);
  expect(counts()).toEqual([1, 1]);
  const client = new EventEmitter();
  pool.emit("connect", client);
  expect(client.listenerCount("error")).toBe(1);
  expect(first.counts.connectionsMade).toBe(2);
  expect(others.map((each) => each.counts.connectionsMade)).toEqual(others.map(() => 1));
  await first.close();
  await first.close();
  expect(counts()).toEqual([1, 1]);
  for (const each of others) await each.close();
  expect(counts()).toEqual([0, 0]);
  pool.emit("connect", new EventEmitter());
  expect(first.counts.connectionsMade).toBe(2);
  const again = open();
  await first.close();
  expect(counts()).toEqual([1, 1]);
  await again.close();
  expect(counts()).toEqual([0, 0]);
});
