import { expect, test } from "vitest";
import { commitTimestamp } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { DistantStore } from "./distant-store.js";
import type { Network, Request } from "./request.js";

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

test("a batch that takes its commit timestamp may arrive late, and never twice", async () => {
  const { store, sent } = distant();
  await store.atomic!.commit({ rows: [put(commitTimestamp)] });
  await store.atomic!.commit({ rows: [put(7)] });
  expect(sent).toMatchObject([
    { mayBeLate: true, mayRepeat: false },
    { mayBeLate: true, mayRepeat: true },
  ]);
});

test("a read is neither late nor done twice", async () => {
  const { store, sent } = distant();
  await store.readRow({ table: "t", row: bytes("r"), columns: [{ exact: bytes("c") }], at: 7 });
  expect(sent).toMatchObject([{ mayBeLate: false, mayRepeat: false }]);
});
