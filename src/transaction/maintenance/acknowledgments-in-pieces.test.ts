import { expect, test } from "vitest";
import { bareContext } from "../../../test/support/context.js";
import type { RawRead } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { encodeTimestamp, encodeWrite } from "../cell/records.js";
import type { ColumnObserver } from "../context.js";
import { PassingStore } from "../wire/passing-store.js";
import { collect } from "./collect.js";

test("collection reads few versions of an acknowledgment at once", async () => {
  const store = memoryStore();
  const put = (column: Uint8Array, timestamp: number) =>
    store.mutate({
      table: "accounts",
      row: Buffer.from("alice"),
      guards: [],
      mutations: [
        {
          type: "put",
          column,
          part: "write",
          timestamp,
          value: encodeWrite({
            start: timestamp - 1,
            kind: "put",
            onePhase: true,
            value: encodeTimestamp(timestamp - 1),
          }),
        },
      ],
    });
  const [column, acknowledgment] = [Buffer.from("balance"), Buffer.from("~ack\0o\0balance")];
  for (let i = 1; i <= 3_000; i++) {
    await put(column, 4 * i);
    await put(acknowledgment, 4 * i + 2);
  }
  let most = 0;
  class Watched extends PassingStore {
    override async readRaw(read: RawRead) {
      const page = await super.readRaw(read);
      for (const { cells } of page.rows)
        for (const { versions } of cells) most = Math.max(most, versions.length);
      return page;
    }
  }
  const bare = bareContext(new Watched(store));
  const observer: ColumnObserver = {
    name: "o",
    acknowledgment,
    parked: Buffer.from("~parked\0o\0balance"),
    since: 0,
    acknowledged: (value) => Number(Buffer.from(value).readBigUInt64BE()),
    acknowledging: (start) => encodeTimestamp(start),
    passed: () => true,
  };
  const view = {
    ...(await bare.notifications.fresh()),
    observersOf: (_: string, path: Uint8Array) => (Buffer.compare(path, column) === 0 ? [observer] : []),
  };
  const context = {
    ...bare,
    oracle: { next: async () => 1e6, latest: () => 1e6 },
    notifications: { ...bare.notifications, fresh: () => view },
  };
  await collect(context, ["accounts"], Number.POSITIVE_INFINITY, { retentionMs: 0 });
  expect(most).toBeLessThanOrEqual(500);
});
