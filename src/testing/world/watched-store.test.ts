import { expect, test } from "vitest";
import type { RowMutation, RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { ChangeOrder, WatchedStore } from "./watched-store.js";

const bytes = (text: string) => new TextEncoder().encode(text);

const put = (row: string): RowMutation => ({
  table: "t",
  row: bytes(row),
  guards: [],
  mutations: [{ type: "put", column: bytes("c"), part: "write", timestamp: 7, value: bytes("v") }],
});

test("watchers of several stores are notified in the order of the requests, whichever is answered first", async () => {
  const bare = memoryStore();
  let answerFirst = () => {};
  const late: RowStore = new Proxy(bare, {
    get: (store, name) => {
      if (name !== "mutate") return Reflect.get(store, name, store);
      return async (mutation: RowMutation) => {
        const answer = await store.mutate(mutation);
        await new Promise<void>((resolve) => {
          answerFirst = resolve;
        });
        return answer;
      };
    },
  });
  const told: string[] = [];
  const order = new ChangeOrder();
  const [one, other] = [new WatchedStore(late, order), new WatchedStore(bare, order)];
  for (const store of [one, other])
    store.watch({ applied: (rows) => told.push(...rows.map(({ row }) => Buffer.from(row).toString())) });
  const first = one.mutate(put("first"));
  const second = other.atomic!.commit({ rows: [put("second")] });
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(told).toEqual([]);
  answerFirst();
  expect((await second).answer).toBe("applied");
  expect(await first).toBe("applied");
  expect(told).toEqual(["first", "second"]);
});
