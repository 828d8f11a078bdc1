import { expect, test } from "vitest";
import { TestClock } from "../../../testing/index.js";
import type { TableIds } from "../table/table-ids.js";
import type { PostgresPool } from "../wire/client.js";
import { Connections } from "../wire/connections.js";
import { Flushes } from "./flushes.js";
import { CommitQueue } from "./queue.js";
import { Request } from "./request.js";
import { Writer } from "./writer.js";

test("a commit that waits for groups before it fails after the deadline, and not after theirs too", async () => {
  const clock = new TestClock();
  const away: PostgresPool = {
    connect: () => Promise.reject(Object.assign(new Error("refused"), { code: "ECONNREFUSED" })),
    end: () => Promise.resolve(),
    on: () => undefined,
    removeListener: () => undefined,
  };
  const connections = new Connections({
    pool: away,
    isOwn: false,
    environment: clock.process(),
    deadlineMs: 10_000,
    prepare: true,
    place: "here",
  });
  const queue = new CommitQueue({
    connections,
    writer: new Writer(connections, "s"),
    flushes: new Flushes(connections, "s"),
    tables: { known: () => 1 } as unknown as TableIds,
    early: false,
    onCommitted: () => undefined,
  });
  // More than 512 make several groups, one after the other.
  const answers = Array.from({ length: 3_000 }, (_, i) => {
    const rows = [{ table: "t", row: Buffer.from(`${i}`), guards: [], mutations: [] }];
    const request = new Request({ rows, ranges: [], counts: true }, undefined, connections.deadline());
    queue.push(request);
    return expect(request.answered).rejects.toMatchObject({ code: "STORE", retryable: true });
  });
  await clock.until(Promise.all(answers));
  expect(clock.passedMs).toBeLessThanOrEqual(10_000);
  await queue.idle();
});
