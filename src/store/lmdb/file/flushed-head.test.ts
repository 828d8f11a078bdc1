import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { open } from "lmdb";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemEnvironment } from "../../../environment/index.js";
import { allColumns } from "../../index.js";
import { openLmdbStore } from "../index.js";
import { nativeOptions, openDatabases } from "./opening.js";
import { Openings } from "./openings.js";
import { DataFile, metaRecord } from "./pages.js";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-head-"));
});

afterEach(() => rm(folder, { recursive: true }));

const stopped = /The machine stopped while .*data\.mdb was written.*Open the database once for writing/s;

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

/**
 * Leaves the file as it is after the machine stopped between the first commit of a new file and that
 * commit's flush: its only flushed state is the empty one, number 0.
 */
function interruptCreation(): void {
  const { newest, pageSize } = heads();
  const bytes = readFileSync(dataFile());
  const { start, end, flagsAt, unflushed } = metaRecord;
  const first = Buffer.from(bytes.subarray(0, pageSize)).subarray(start, end);
  const second = (newest.transaction % 2) * pageSize;
  bytes.copy(bytes, pageSize, second, second + pageSize);
  bytes.writeBigUInt64LE(1n, pageSize);
  const field = (at: number) => ({ at: at - start });
  const [free, main, lastPage, transaction, boot] = [48, 96, 144, 152, 160].map(field);
  for (const tree of [free!, main!]) {
    first.fill(0, tree.at + 6, tree.at + 40);
    first.writeBigUInt64LE(0xffff_ffff_ffff_ffffn, tree.at + 40);
  }
  first.writeBigUInt64LE(1n, lastPage!.at);
  first.writeBigUInt64LE(0n, transaction!.at);
  first.writeBigUInt64LE(0n, boot!.at);
  first.writeUInt16LE(first.readUInt16LE(flagsAt - start) & ~unflushed, flagsAt - start);
  first.copy(bytes, start);
  bytes.fill(0, pageSize / 2, pageSize);
  bytes.writeBigUInt64LE(1n, pageSize + start + transaction!.at);
  bytes.writeBigUInt64LE(0x5555n, pageSize + start + boot!.at);
  bytes.writeUInt16LE(bytes.readUInt16LE(pageSize + flagsAt) | unflushed, pageSize + flagsAt);
  writeFileSync(dataFile(), bytes);
  rmSync(join(folder, "lock.mdb"));
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

it("a file cannot be opened only to read if the machine stopped before the newest state was flushed", async () => {
  await write("a");
  const { newest, pageSize } = heads();
  unflush();
  const bytes = readFileSync(dataFile());
  for (const head of [0, pageSize / 2, pageSize]) bytes.writeBigUInt64LE(0x5555n, head + metaRecord.end - 8);
  writeFileSync(dataFile(), bytes);
  rmSync(join(folder, "lock.mdb"));
  await expect(openLmdbStore(folder, { readOnly: true })).rejects.toThrow(stopped);
  expect(readFileSync(dataFile())).toEqual(bytes);
  await (await openLmdbStore(folder)).close();
  expect(heads().newest.transaction).toBe(newest.transaction - 1);
  await (await openLmdbStore(folder, { readOnly: true })).close();
});

it("a commit while a process looks at the states does not make it believe that the machine stopped", async () => {
  await write("a");
  const file = openSync(dataFile(), "r");
  const boot = BigInt(`0x${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8)}`);
  try {
    const data = new DataFile(file, statSync(dataFile()).size);
    const { metas } = data;
    let looks = 0;
    // Each further look finds a newer state.
    data.metas = () => {
      const { pair, flushed } = metas.call(data);
      const later = 2 * looks++;
      const [first, second] = pair.map((each) => ({
        ...each,
        flushed: false,
        transaction: each.transaction + later,
      }));
      return { pair: [first!, second!], flushed };
    };
    expect(data.goesBack(boot)).toBe(false);
    expect(data.goesBack(boot ^ 1n)).toBe(true);
    expect(looks).toBe(2);
  } finally {
    closeSync(file);
  }
});

it("a file with a flushed newest state is not changed", async () => {
  await write("a");
  const before = readFileSync(dataFile());
  const store = await openLmdbStore(folder);
  await store.close();
  expect(readFileSync(dataFile())).toEqual(before);
});

const options = {
  readOnly: false,
  create: true,
  noReadAhead: false,
  mapSize: 2 ** 28,
  maxReaders: 100,
};

describe("a file whose first commit was not flushed before the machine stopped", () => {
  async function rows(): Promise<readonly string[]> {
    const store = await openLmdbStore(folder);
    const { rows } = await store.readRaw({ table: "t", columns: allColumns, parts: ["write"] });
    expect(await store.verify?.()).toEqual([]);
    await store.close();
    return rows.map(({ row }) => Buffer.from(row).toString());
  }

  it("is an empty database", async () => {
    await write("a");
    interruptCreation();
    expect(heads().newest).toMatchObject({ transaction: 1, flushed: false });
    expect(await rows()).toEqual([]);
    await write("b");
    expect(await rows()).toEqual(["b"]);
    expect(heads().newest.transaction).toBeLessThan(100);
  });

  it("is an empty database after LMDB has gone back to the empty state by itself", async () => {
    await write("a");
    interruptCreation();
    const root = open(nativeOptions(folder, options));
    await root.close();
    rmSync(join(folder, "lock.mdb"));
    expect(heads().newest.transaction).toBeGreaterThan(Number.MAX_SAFE_INTEGER);
    expect(await rows()).toEqual([]);
    await write("b");
    expect(await rows()).toEqual(["b"]);
  });

  it("is not changed while another process may still be making it", async () => {
    await write("a");
    interruptCreation();
    const before = readFileSync(dataFile());
    writeFileSync(join(folder, "lock.mdb.opening"), `${process.ppid}.x`);
    const openings = new Openings(folder, {
      ...systemEnvironment,
      setTimer: (action) => {
        systemEnvironment.defer(action);
        return { cancel: () => undefined };
      },
    });
    await openings.announce();
    expect(() => openDatabases(folder, options, openings)).toThrow(
      /another process .* may be making it again/,
    );
    openings.withdraw();
    expect(readFileSync(dataFile())).toEqual(before);
    expect(await rows()).toEqual([]);
  });

  it("can be opened for writing if it is still empty, and not only to read", async () => {
    writeFileSync(dataFile(), "");
    await expect(openLmdbStore(folder, { readOnly: true })).rejects.toThrow(/no database in .* yet/);
    expect(await rows()).toEqual([]);
  });

  it("cannot be opened only to read", async () => {
    await write("a");
    interruptCreation();
    const before = readFileSync(dataFile());
    await expect(openLmdbStore(folder, { readOnly: true })).rejects.toThrow(stopped);
    expect(readFileSync(dataFile())).toEqual(before);
    await rows();
    await (await openLmdbStore(folder, { readOnly: true })).close();
  });
});
