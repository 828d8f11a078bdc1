import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Mutation } from "../../mutation.js";
import { openLmdbStore } from "../store.js";

test("reports this process's writes: transactions, their pages, and their time", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-statistics-"));
  const store = await openLmdbStore(folder);
  try {
    const before = await store.statistics!();
    const column = Buffer.from("c");
    for (let value = 0; value < 3; value++) {
      const answer = await store.mutate({
        table: "t",
        row: Buffer.from("r"),
        guards: [],
        mutations: [{ type: "put", column, part: "write", timestamp: 1 + value, value: Buffer.of(value) }],
      });
      expect(answer).toBe("applied");
    }
    const after = await store.statistics!();
    const gained = (name: string) => after[name]! - before[name]!;
    expect(gained("writeTransactions")).toBe(3);
    expect(gained("pagesWritten")).toBeGreaterThanOrEqual(3);
    for (const name of ["writeTransactionMs", "writeFillMs", "pageWriteMs", "flushMs"])
      expect(gained(name), name).toBeGreaterThanOrEqual(0);
    expect(gained("writeFillMs")).toBeLessThanOrEqual(gained("writeTransactionMs"));
    expect(gained("writeLockWaitMs")).toBeGreaterThanOrEqual(0);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("reports the size and the free space of the folder's disk", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-statistics-"));
  const store = await openLmdbStore(folder);
  try {
    const { diskBytes, diskFreeBytes } = await store.statistics!();
    const { blocks, bsize } = await statfs(folder);
    expect(diskBytes).toBe(blocks * bsize);
    expect(diskFreeBytes).toBeGreaterThan(0);
    expect(diskFreeBytes).toBeLessThanOrEqual(diskBytes!);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("reports the free pages of the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-statistics-"));
  const store = await openLmdbStore(folder);
  const column = Buffer.from("c");
  const change = (mutations: readonly Mutation[]) =>
    store.mutate({ table: "t", row: Buffer.from("r"), guards: [], mutations });
  try {
    const value = Buffer.alloc(1_000_000, 1);
    await change([{ type: "put", column, part: "write", timestamp: 1, value }]);
    const before = await store.statistics!();
    await change([{ type: "delete", column, part: "write", from: 0, to: Number.POSITIVE_INFINITY }]);
    // Only later transactions use the pages that this one has freed.
    await change([{ type: "put", column, part: "write", timestamp: 2, value: Buffer.of(2) }]);
    const { pages, pagesFree, pageBytes } = await store.statistics!();
    expect(pages).toBeGreaterThanOrEqual(before.pages!);
    expect(pagesFree! - before.pagesFree!).toBeGreaterThanOrEqual(Math.floor(value.length / pageBytes!));
    expect(pagesFree).toBeLessThan(pages!);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test("reports no writes of a process that only reads", async () => {
  const folder = await mkdtemp(join(tmpdir(), "percolatordb-statistics-"));
  await (await openLmdbStore(folder)).close();
  const store = await openLmdbStore(folder, { readOnly: true });
  try {
    const names = [
      "writeTransactions",
      "pagesWritten",
      "writeLockWaitMs",
      "writeTransactionMs",
      "writeFillMs",
    ];
    const statistics = await store.statistics!();
    for (const name of names) expect(statistics[name], name).toBe(0);
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
