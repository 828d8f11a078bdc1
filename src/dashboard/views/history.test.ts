import { expect, test } from "vitest";
import { open } from "../../database/index.js";
import { systemEnvironment } from "../../environment/index.js";
import { table, text } from "../../schema/index.js";
import type { KnownWriter } from "../sources/gathered.js";
import { Shared } from "../sources/shared.js";
import type { ViewContext } from "./context.js";
import { history } from "./history.js";
import { Parameters } from "./parameters.js";

const pages = table("pages", { title: text() });

test("a version has its writer and the writer's process after the details of the transaction are gone", async () => {
  await using db = await open("memory:", { tables: [pages] });
  const commit = async (title: string) => {
    let timestamp = 0;
    await db.transact((tx) => {
      tx.set(pages.title, "a", title);
      tx.onCommit((at) => {
        timestamp = at;
      });
    });
    return timestamp;
  };
  const [first, second] = [await commit("one"), await commit("two")];
  await commit("three");
  const process = "machine/1";
  const writers = new Map<number, KnownWriter>([
    [first, { name: "titles", isObserver: true, process }],
    [second, { name: "transaction", isObserver: false, process }],
  ]);
  const gathered = { everyTransaction: async () => [], writers: async () => writers };
  const tables = new Shared(systemEnvironment, 1_000, async () => ({
    names: ["pages"],
    table: () => pages,
  }));
  const given = new Parameters(new URLSearchParams({ table: "pages", row: "a", column: "title" }), tables);
  const { versions } = await history(
    { db, gathered } as unknown as ViewContext,
    given,
    new AbortController().signal,
  );
  expect(versions.map(({ writer }) => writer)).toEqual([
    undefined,
    { name: undefined, isObserver: false, process },
    { name: "titles", isObserver: true, process },
  ]);
});
