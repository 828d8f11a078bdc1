import { expect, it } from "vitest";
import { systemEnvironment } from "../../environment/index.js";
import { LoadError } from "../../errors/index.js";
import { allColumns } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { encodeWrite } from "../../transaction/index.js";
import { loadOwnerCell } from "../registry/load-record.js";
import { LoadWriter } from "./load-writer.js";

const [start, at] = [3, 7];

it.each([
  { how: "in a block", inlineBytes: 10_000_000 },
  { how: "as mutations", inlineBytes: 64 },
])("a writer that was taken over writes nothing more, $how", async ({ inlineBytes }) => {
  const store = memoryStore({ inlineBytes });
  const head = encodeWrite({ start, kind: "put", onePhase: false, loaded: true, value: Buffer.alloc(0) });
  const { table, row, column } = loadOwnerCell(start);
  const take = (timestamp: number) =>
    store.mutate({
      table,
      row,
      guards: [],
      mutations: [{ type: "put", column, part: "write", timestamp, value: head }],
    });
  const put = async (ownedAt: number, name: string) => {
    const writer = new LoadWriter(store, systemEnvironment, start, at, ownedAt);
    const batch = writer.newBatch("documents");
    batch.add(Buffer.from(name), [
      { column: Buffer.from("c"), head, value: Buffer.from("v"), isInline: true },
    ]);
    await writer.put(batch, undefined);
  };
  await take(10);
  await put(10, "a");
  await take(11);
  await expect(put(10, "b")).rejects.toBeInstanceOf(LoadError);
  await put(11, "c");
  const { rows } = await store.readRaw({ table: "documents", columns: allColumns, parts: ["write"] });
  expect(rows.map((each) => Buffer.from(each.row).toString())).toEqual(["a", "c"]);
});
