import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  renameSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { systemEnvironment } from "../../../environment/index.js";
import { Openings } from "../file/openings.js";
import { DataFile } from "../file/pages.js";
import { openLmdbStore } from "../store.js";
import { Request } from "../write/draft/request.js";
import { acquireFolder, releaseFolder } from "./open-folders.js";
import { SharedFolder } from "./shared-folder.js";

const options = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 24, maxReaders: 16 };
let path: string;
let shared: SharedFolder;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-shared-"));
  shared = await acquireFolder(join(path, "data"), options, systemEnvironment);
});

afterEach(async () => {
  await releaseFolder(shared);
  await rm(path, { recursive: true });
});

const failure = (code: number) => Object.assign(new Error(`LMDB answered ${code}`), { code });

const column = Buffer.from("x");

async function put(row: string, text = "x"): Promise<unknown> {
  const value = Buffer.from(text);
  const mutation = { type: "put", column, part: "write", timestamp: 1, value } as const;
  const request = new Request(
    { type: "mutate", mutation: { table: "t", row: Buffer.from(row), guards: [], mutations: [mutation] } },
    false,
    undefined,
  );
  shared.queue.push(request);
  return request.answered;
}

it.each(["lock.mdb", "data.mdb"])(
  "a %s that is replaced while LMDB opens the folder is noticed at once",
  async (name) => {
    const folder = join(path, name === "lock.mdb" ? "new" : "data");
    let isReplaced = false;
    // `readOnly` is read before LMDB opens the files, and again after that.
    const striking = {
      ...options,
      get readOnly() {
        const isOpen = name === "lock.mdb" ? existsSync(join(folder, "data.mdb")) : opened > 0;
        if (isOpen && !isReplaced) {
          copyFileSync(join(folder, name), join(folder, "copy"));
          renameSync(join(folder, "copy"), join(folder, name));
          isReplaced = true;
        }
        return false;
      },
      get noReadAhead() {
        opened++;
        return false;
      },
    };
    let opened = 0;
    if (name === "data.mdb") await releaseFolder(shared);
    try {
      await expect(acquireFolder(folder, striking, systemEnvironment)).rejects.toMatchObject({
        code: "STORE_MOVED",
      });
      expect(isReplaced).toBe(true);
    } finally {
      shared = await acquireFolder(join(path, "other"), options, systemEnvironment);
    }
  },
);

it.each([-30781, -30782, -30798])("LMDB is reopened if it has lost its free pages (%i)", async (code) => {
  expect(await put("a")).toBe("applied");
  expect(await shared.mend(failure(code))).toBe(true);
  expect(shared.timesMended).toBe(1);
  expect(await put("b")).toBe("applied");
});

it("the next group does what could not be committed because of lost free pages", async () => {
  expect(await put("a")).toBe("applied");
  const { root } = shared.databases;
  // Fails as LMDB does when a commit fails and nothing was written.
  let begun = 0;
  const failing = {
    ...root,
    thread: () => -1,
    async transaction(action: () => void) {
      begun++;
      root.transactionSync(() => {
        action();
        throw failure(-30781);
      });
    },
  };
  Object.assign(shared.databases, { root: failing });
  expect(await put("b")).toBe("applied");
  expect([begun, shared.timesMended]).toEqual([1, 1]);
});

it.each([
  { code: -30795, isRead: true },
  { code: 5, isRead: false },
])(
  "if LMDB answers a read with $code, it is reopened and the read repeated: $isRead",
  async ({ code, isRead }) => {
    expect(await put("a")).toBe("applied");
    const store = await openLmdbStore(join(path, "data"));
    try {
      const { cells } = shared.databases;
      const failing = () => {
        Object.assign(shared.databases, { cells });
        throw failure(code);
      };
      Object.assign(shared.databases, {
        cells: Object.assign(Object.create(cells), { getBinaryFast: failing }),
      });
      const columns = [{ exact: Buffer.from("x") }];
      const read = async () => store.readRow({ table: "t", row: Buffer.from("a"), columns, at: 1 });
      if (isRead) expect((await read()).cells).toHaveLength(1);
      else await expect(read()).rejects.toMatchObject({ cause: { code } });
      expect(shared.timesMended).toBe(isRead ? 1 : 0);
    } finally {
      await store.close();
    }
  },
);

it("reads that wait together until LMDB is reopened get their own bytes", async () => {
  for (const row of ["a", "b"]) await put(row, `value of ${row}`);
  const store = await openLmdbStore(join(path, "data"));
  try {
    const getBinaryFast = () => {
      throw failure(-30795);
    };
    Object.assign(shared.databases, {
      cells: Object.assign(Object.create(shared.databases.cells), { getBinaryFast }),
    });
    const read = async (row: string) => {
      const page = await store.readRow({
        table: "t",
        row: Buffer.from(row),
        columns: [{ exact: column }],
        at: 1,
      });
      return Buffer.from(page.cells[0]!.write!.value).toString();
    };
    expect(await Promise.all([read("a"), read("b")])).toEqual(["value of a", "value of b"]);
    expect(shared.timesMended).toBe(1);
  } finally {
    await store.close();
  }
});

it("a range that a broken LMDB shows as empty is read once LMDB is reopened", async () => {
  for (const row of ["a", "b"]) await put(row);
  const store = await openLmdbStore(join(path, "data"));
  try {
    const { cells, meta } = shared.databases;
    // LMDB's binding uses the cursor of an earlier range again, and takes its error for the end of the range.
    const getBinaryFast = () => {
      throw failure(-30795);
    };
    Object.assign(shared.databases, {
      cells: Object.assign(Object.create(cells), { getBinaryFast, getRange: () => [] }),
      meta: Object.assign(Object.create(meta), { getBinaryFast }),
    });
    const range = { table: "t", start: undefined, end: undefined, at: 1, limit: 10 };
    const lent = store.zeroCopy!.column({ ...range, column, reverse: false }, () => true);
    expect(lent).toBeUndefined();
    const page = await store.readRange({ ...range, columns: [{ exact: column }] });
    expect(page.rows).toHaveLength(2);
    expect(shared.timesMended).toBe(1);
  } finally {
    await store.close();
  }
});

it("a folder that was opened while another process held its lock is flushed before the first write", async () => {
  expect(await put("a")).toBe("applied");
  await releaseFolder(shared);
  const holder = { thread: 1, process: 1, program: "p", transaction: 1n, isStopped: true };
  const held = { lock: "write", holder, heldMs: 1_000 } as const;
  const folder = join(path, "data");
  const openings = new Openings(folder, systemEnvironment);
  shared = new SharedFolder(folder, options, systemEnvironment, openings, undefined, held);
  let flushed = (): void => undefined;
  const begun = new Promise<void>((begin) => {
    const flush = () =>
      new Promise<void>((resolve) => {
        flushed = resolve;
        begin();
      });
    Object.assign(shared.flushes!, { flush });
  });
  const { root } = shared.databases;
  let isWritten = false;
  const watched = {
    ...root,
    thread: () => -1,
    async transaction(action: () => void) {
      isWritten = true;
      root.transactionSync(action);
    },
  };
  Object.assign(shared.databases, { root: watched });
  const written = put("b");
  await begun;
  for (let turn = 0; turn < 100; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isWritten).toBe(false);
  Object.assign(shared.flushes!, { flush: async () => undefined });
  flushed();
  expect(await written).toBe("applied");
  expect(isWritten).toBe(true);
});

/** Files of the folder that this process has open. */
function openFiles(): readonly string[] {
  const targets = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ""; // The descriptor with which the list was read.
    }
  });
  return targets.filter((target) => target.startsWith(path));
}

it.runIf(process.platform === "linux")(
  "is closed once LMDB was reopened: no file of it stays open",
  async () => {
    expect(openFiles()).not.toEqual([]);
    // LMDB is reopened when its flush has ended.
    shared.databases.root.env.sync(() => undefined);
    const mending = shared.mend(failure(-30781));
    await releaseFolder(shared);
    expect(await mending).toBe(true);
    expect(openFiles()).toEqual([]);
    shared = await acquireFolder(join(path, "data"), options, systemEnvironment);
  },
);

it("is not reopened for another reason", async () => {
  expect(await shared.mend(failure(28))).toBe(false);
  expect(shared.timesMended).toBe(0);
});

it("knows which pages of the file are free, and which of them a reader uses", async () => {
  const { root } = shared.databases;
  const freePages = (reader: number) => {
    const file = openSync(join(path, "data", "data.mdb"), "r");
    try {
      const data = new DataFile(file, fstatSync(file).size);
      return data.freePages(data.newest(), reader).pages;
    } finally {
      closeSync(file);
    }
  };
  for (let i = 0; i < 10; i++) await put(`row${i}`);
  expect(freePages(0)).toBe(0);

  root.resetReadTxn();
  const before = root.lastTransaction();
  const reading = root.useReadTransaction();
  try {
    expect(root.oldestReader()).toBe(before);
    for (let i = 10; i < 60; i++) await put(`row${i}`);
    expect(root.oldestReader()).toBe(before);
    expect(freePages(Number.POSITIVE_INFINITY)).toBeGreaterThan(freePages(before) + 50);
  } finally {
    reading.done();
  }
  root.resetReadTxn();
  expect(root.oldestReader()).toBeGreaterThan(before);
});
