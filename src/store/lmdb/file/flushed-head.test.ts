import { closeSync, openSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openLmdbStore } from "../index.js";
import { DataFile, metaRecord } from "./pages.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-head-"));
});

afterEach(() => rm(folder, { recursive: true }));

const dataFile = () => join(folder, "data.mdb");

function heads() {
  const file = openSync(dataFile(), "r");
  try {
    const data = new DataFile(file, statSync(dataFile()).size);
    return { newest: data.newest(), flushed: data.metas().flushed, pageSize: data.pageSize };
  } finally {
    closeSync(file);
  }
}

/** Leaves the file as it is after a process was killed between a commit and the commit's flush. */
function unflush(): void {
  const { newest, pageSize } = heads();
  const bytes = readFileSync(dataFile());
  const slot = (newest.transaction % 2) * pageSize;
  const other = ((newest.transaction + 1) % 2) * pageSize;
  const { start, end, flagsAt, unflushed } = metaRecord;
  bytes.copy(bytes, pageSize / 2 + start, other + start, other + end);
  for (const head of [slot, other]) {
    bytes.writeUInt16LE(bytes.readUInt16LE(head + flagsAt) | unflushed, head + flagsAt);
  }
  const flags = pageSize / 2 + flagsAt;
  bytes.writeUInt16LE(bytes.readUInt16LE(flags) & ~unflushed, flags);
  writeFileSync(dataFile(), bytes);
}

async function write(row: string): Promise<void> {
  const store = await openLmdbStore(folder);
  for (let time = 1; time < 4; time++) {
    const put = { type: "put", part: "write", timestamp: time, value: Buffer.from("v") } as const;
    const mutations = [{ ...put, column: Buffer.from("c") }];
    await store.mutate({ table: "t", row: Buffer.from(row), guards: [], mutations });
  }
  await store.close();
}

it("opening a file with an unflushed newest state flushes it and records that, before any write", async () => {
  await write("a");
  unflush();
  const before = heads();
  expect(before.newest.flushed).toBe(false);
  expect(before.flushed?.transaction).toBe(before.newest.transaction - 1);
  const store = await openLmdbStore(folder);
  const { newest, flushed } = heads();
  expect(newest).toEqual(before.newest);
  expect(flushed).toEqual({ ...newest, flushed: true });
  await store.close();
});

it("opening only to read writes nothing", async () => {
  await write("a");
  unflush();
  const before = readFileSync(dataFile());
  const store = await openLmdbStore(folder, { readOnly: true });
  expect(readFileSync(dataFile())).toEqual(before);
  await store.close();
});

it("a file with a flushed newest state is not changed", async () => {
  await write("a");
  const before = readFileSync(dataFile());
  const store = await openLmdbStore(folder);
  await store.close();
  expect(readFileSync(dataFile())).toEqual(before);
});
