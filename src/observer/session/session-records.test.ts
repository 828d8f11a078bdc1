import { expect, test } from "vitest";
import { LendingStore } from "../../../test/support/lending-store.js";
import { memoryStore } from "../../store/memory/index.js";
import { readCrashSuspects } from "./crash-suspects.js";
import { endSessions, SessionRecords, strayedSessions } from "./session-records.js";

const good = { observers: { cluster: 2 }, expires: 5_000, process: "p" };

test.each([
  [good, true],
  [{ ...good, observers: {} }, true],
  [{ ...good, observers: { cluster: "2" } }, false],
  [{ ...good, observers: { cluster: 2, rank: 1.5 } }, false],
  [{ ...good, observers: [2] }, false],
  [{ ...good, observers: null }, false],
  [{ ...good, process: 7 }, false],
])(
  "a session's record says which version of each observer runs, or is damaged: %j",
  async (record, isSound) => {
    const store = memoryStore();
    await new SessionRecords(store, () => undefined).put("s", record as typeof good);
    const strayed: unknown[] = [];
    for await (const { error } of strayedSessions(store, 0)) strayed.push(error);
    expect(strayed).toEqual(isSound ? [] : [expect.objectContaining({ code: "STORE_DAMAGED" })]);
  },
);

test("what a session declares is read before its bytes are used for another read", async () => {
  const records = new SessionRecords(new LendingStore(memoryStore()), () => undefined);
  await records.put("s", good, ["sum", "search"]);
  expect(await records.declared("s")).toEqual(["sum", "search"]);
});

test("a session is removed only when its observers' hints are certainly suspect", async () => {
  const store = memoryStore();
  await new SessionRecords(store, () => undefined).put("s", good);
  const mutate = store.mutate.bind(store);
  let lost = 0;
  store.mutate = async (mutation, options) => {
    if (lost > 0 || !Buffer.from(mutation.row).toString().startsWith("suspect/"))
      return mutate(mutation, options);
    lost++;
    return "unknown";
  };
  let last = 0;
  const next = async () => ++last;
  await expect(endSessions(store, next)).rejects.toMatchObject({ code: "STORE", retryable: true });
  expect(await endSessions(store, next)).toBe(1);
  expect((await readCrashSuspects(store)).get("cluster")).toBe(1);
});
