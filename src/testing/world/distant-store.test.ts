import { expect, test } from "vitest";
import { commitTimestamp, type RowPage, type RowStore } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { DistantStore } from "./distant-store.js";
import type { Network, Request } from "./request.js";
import { WatchedStore } from "./watched-store.js";

const bytes = (text: string) => new TextEncoder().encode(text);

function distant(): { readonly store: DistantStore; readonly sent: Request[] } {
  const sent: Request[] = [];
  const network: Network = {
    async send(request) {
      sent.push(request as Request);
      return request.apply();
    },
  };
  return { store: new DistantStore({ store: memoryStore(), network }), sent };
}

const put = (timestamp: number) => ({
  table: "t",
  row: bytes("r"),
  guards: [],
  mutations: [{ type: "put", column: bytes("c"), part: "write", timestamp, value: bytes("v") }] as const,
});

test("a mutation of a row may arrive late and twice", async () => {
  const { store, sent } = distant();
  await store.mutate(put(7));
  expect(sent).toMatchObject([{ mayBeLate: true, mayRepeat: true }]);
});

test("a batch that takes its commit timestamp may arrive late, but never twice", async () => {
  const { store, sent } = distant();
  await store.atomic!.commit({ rows: [put(commitTimestamp)] });
  await store.atomic!.commit({ rows: [put(7)] });
  expect(sent).toMatchObject([
    { mayBeLate: true, mayRepeat: false },
    { mayBeLate: true, mayRepeat: true },
  ]);
});

test("a read is neither late nor repeated", async () => {
  const { store, sent } = distant();
  await store.readRow({ table: "t", row: bytes("r"), columns: [{ exact: bytes("c") }], at: 7 });
  expect(sent).toMatchObject([{ mayBeLate: false, mayRepeat: false }]);
});

test("an answer keeps its bytes in transit, even if the store had only lent them", async () => {
  const value = Buffer.from("before");
  const write = { timestamp: 5, value };
  const page: RowPage = {
    row: bytes("r"),
    cells: [{ column: bytes("c"), lock: undefined, write, latest: true, data: [write] }],
    next: undefined,
  };
  const zeroCopy = new Proxy(memoryStore(), {
    get: (store, name) => (name === "readRow" ? () => page : Reflect.get(store, name, store)),
  });
  const network: Network = {
    async send(request) {
      const answer = await request.apply();
      value.write("behind");
      return answer;
    },
  };
  const store = new DistantStore({ store: zeroCopy, network });
  const { cells } = await store.readRow({ table: "t", row: bytes("r"), columns: [], at: 7 });
  expect(Buffer.from(cells[0]!.write!.value).toString()).toBe("before");
  expect(Buffer.from(cells[0]!.data[0]!.value).toString()).toBe("before");
});

test("damage that a store finds is passed on, and a store that does not check has none", async () => {
  const damage = [{ message: "a page is damaged", cell: undefined }];
  const damaged: RowStore = new Proxy(memoryStore(), {
    get: (store, name) => (name === "verify" ? async () => damage : Reflect.get(store, name, store)),
  });
  const network: Network = { send: async (request) => request.apply() };
  const watched = new WatchedStore(damaged);
  expect(await new DistantStore({ store: watched, network }).verify()).toEqual(damage);
  expect(await distant().store.verify()).toEqual([]);
});
