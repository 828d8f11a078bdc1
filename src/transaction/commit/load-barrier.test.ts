import { expect, test } from "vitest";
import { DistantTestStore, distantContext } from "../../../test/support/distant-store.js";
import { ConflictError } from "../../errors/index.js";
import { int, table, text } from "../../schema/index.js";
import { loadStateCell } from "../cell/known-loads.js";
import { encodeWrite } from "../cell/records.js";
import type { ObservedColumns, TransactionContext } from "../context.js";
import { CoreTransaction } from "../core.js";
import { Transaction } from "../transaction.js";
import { LoadedRanges } from "./load-barrier.js";

const pages = table("pages", { text: text(), words: int() });

/** The registry with one load of the rows before "m", published or not. */
function viewOf(publishedAt: number | undefined): ObservedColumns {
  const ranges = [{ table: "pages", end: Buffer.from("m") }];
  return {
    guards: { table: "~system", row: Buffer.from("registry"), guards: [], mutations: [] },
    observed: () => false,
    hints: () => [],
    observersOf: () => [],
    loads: new LoadedRanges([{ name: "first", ranges, publishedAt }]),
  };
}

// Protocol §5.13: "published at P > S | ... is serializable and has read there | conflict".
test("on a store without atomic batches, a serializable transaction conflicts with a load that was published since, though its copy of the registry is from before", async () => {
  const store = new DistantTestStore();
  const bare = distantContext(store);
  const load = 1;
  const record = {
    start: load,
    kind: "put",
    onePhase: false,
    loaded: true,
    value: Buffer.from("one"),
  } as const;
  await store.mutate({
    table: "pages",
    row: Buffer.from("a"),
    guards: [],
    mutations: [
      { type: "put", column: pages.text.path, part: "write", timestamp: 2, value: encodeWrite(record) },
    ],
  });
  const setState = async (state: string): Promise<number> => {
    const tx = await CoreTransaction.begin(bare, { system: true });
    tx.write({ ...loadStateCell(load), value: Buffer.from(JSON.stringify(state)) });
    await tx.commit();
    return tx.commitTimestamp!;
  };
  await setState("loading");
  let publishedAt: number | undefined;
  const copy = viewOf(undefined); // at most a second old
  const context: TransactionContext = {
    ...bare,
    notifications: {
      current: () => copy,
      fresh: () => copy,
      refresh: () => {},
      reload: () => viewOf(publishedAt),
      committed: () => {},
    },
  };
  const tx = new Transaction(await CoreTransaction.begin(context, { isolation: "serializable" }));
  expect(await tx.get(pages.text, "a")).toBeUndefined();
  publishedAt = await setState("published");
  tx.set(pages.words, "z", 0); // "there is no row a"
  await expect(tx.commit()).rejects.toBeInstanceOf(ConflictError);
});
