import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemEnvironment } from "../../../../environment/index.js";
import { openDatabases } from "../../file/opening.js";
import { Openings } from "../../file/openings.js";
import type { Databases } from "../../record/databases.js";
import { Key, placeholder, tablePrefix } from "../../record/key.js";
import { readState } from "../../record/state.js";
import { Draft } from "./draft.js";
import { Drafting } from "./drafting.js";

const options = { readOnly: false, create: true, noReadAhead: false, mapSize: 2 ** 26, maxReaders: 16 };

let path: string;
let databases: Databases;
let drafting: Drafting;
/** How many puts into `cells` and `versions` the binding was asked for. */
let puts: number;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "percolatordb-instructions-"));
  databases = { ...openDatabases(path, options, new Openings(path, systemEnvironment)).databases };
  drafting = new Drafting(databases);
  puts = 0;
  for (const name of ["cells", "versions"] as const) {
    const handle = databases[name];
    const put: typeof handle.put = (key, value) => {
      puts++;
      return handle.put(key, value);
    };
    const others = {
      getBinaryFast: handle.getBinaryFast.bind(handle),
      getRange: handle.getRange.bind(handle),
      remove: handle.remove.bind(handle),
    };
    Object.assign(databases, { [name]: { ...handle, ...others, put } });
  }
});

afterEach(async () => {
  await databases.root.close();
  await rm(path, { recursive: true });
});

type StoreName = "cells" | "versions" | "protocol";

const at = (row: string) => new Key().cell(tablePrefix("t"), Buffer.from(row), Buffer.from("c"));

/** Changes records. A change without a value is a removal. */
function draftOf(changes: readonly (readonly [StoreName, row: string, value?: Buffer])[]): Draft {
  const draft = new Draft(readState(databases));
  for (const [store, row, value] of changes) {
    if (value === undefined) drafting.databases[store].remove(at(row));
    else drafting.databases[store].put(at(row), value);
    drafting.accept(draft);
  }
  return draft;
}

/** Queues a draft behind a transaction with an action. */
function queued(draft: Draft, action: () => void = () => undefined): Promise<void> {
  const ended = databases.root.transaction(action, () => undefined);
  draft.queue(databases, { counter: 1, writer: 1, group: 1 });
  return ended;
}

function stored(store: StoreName, row: string): string | undefined {
  databases.root.resetReadTxn();
  const found = databases[store].getBinaryFast(at(row));
  return found?.toString("latin1", 0, found.length);
}

const leftOver = () => databases.meta.getBinaryFast(new Key().raw(placeholder.bytes));

describe("instructions for LMDB's write thread", () => {
  it("put and remove records of all databases in order, without the binding's queue", async () => {
    await queued(draftOf([["cells", "removed", Buffer.from("0")]]));
    await queued(
      draftOf([
        ["cells", "removed"],
        ["cells", "absent"],
        ["cells", "again", Buffer.from("1")],
        ["versions", "again", Buffer.from("2")],
        ["protocol", "again", Buffer.from("3")],
        ["cells", "again", Buffer.from("4")],
        ["cells", "gone", Buffer.from("5")],
        ["cells", "gone"],
        ["cells", "empty", Buffer.alloc(0)],
      ]),
    );
    expect(["removed", "absent", "gone"].map((row) => stored("cells", row))).toEqual(
      Array(3).fill(undefined),
    );
    expect([stored("cells", "again"), stored("cells", "empty")]).toEqual(["4", ""]);
    expect([stored("versions", "again"), stored("protocol", "again")]).toEqual(["2", "3"]);
    expect(leftOver()).toBeUndefined();
    expect(puts).toBe(0);
  });

  it("have keys and values of all lengths, in several slabs", async () => {
    const rows = Array.from({ length: 400 }, (_, i) => "r".repeat(1 + (i % 60)) + i);
    const valueAt = (i: number) => Buffer.alloc(i % 7 === 0 ? 20_000 : i, i);
    const draft = draftOf(rows.map((row, i) => ["cells", row, valueAt(i)] as const));
    expect(draft.slabs.length).toBeGreaterThan(3);
    await queued(draft);
    for (const [i, row] of rows.entries()) expect(stored("cells", row)).toBe(valueAt(i).toString("latin1"));
    expect(puts).toBe(0);
  });

  it("of many drafts follow each other, wherever they are in the binding's buffers", async () => {
    const rows = Array.from({ length: 1_500 }, (_, i) => `row ${i}`);
    // One transaction has all of them.
    await Promise.all(rows.map((row, i) => queued(draftOf([["cells", row, Buffer.from(`${i}`)]]))));
    expect(rows.map((row) => stored("cells", row))).toEqual(rows.map((_, i) => `${i}`));
    expect(puts).toBe(0);
  });

  it("do nothing if their group drops the draft", async () => {
    let before = 0;
    const first = databases.root.transaction(
      () => {
        before = databases.root.lastTransaction();
        dropped?.drop();
      },
      () => undefined,
    );
    const dropped = draftOf([["cells", "a", Buffer.from("1")]]).queue(databases, {
      counter: 1,
      writer: 1,
      group: 1,
    });
    await first;
    // Nothing was committed.
    expect(databases.root.lastTransaction()).toBe(before);
    const second = queued(draftOf([["cells", "b", Buffer.from("2")]]));
    await second;
    expect([stored("cells", "a"), stored("cells", "b")]).toEqual([undefined, "2"]);
    expect(leftOver()).toBeUndefined();
  });

  it.each<{ what: string; change: () => void }>([
    { what: "does not ask for the key", change: () => (placeholder.target = undefined) },
    { what: "writes the key elsewhere", change: () => (placeholder.targetStart += 8) },
    {
      what: "has buffers without addresses",
      change: () => (placeholder.target = { ...placeholder.target!, uint32: new Uint32Array(64) as never }),
    },
    {
      what: "queues something else next",
      change: () => {
        const { uint32, float64, position } = placeholder.target!;
        placeholder.target = { uint32, float64, position: position + 1 };
      },
    },
    {
      what: "writes other flags",
      change: () => {
        const { target, targetStart } = placeholder;
        const uint32 = Object.assign(target!.uint32.slice(), { address: target!.uint32.address });
        uint32[(targetStart - 12) >> 2] = 0x100_000d;
        placeholder.target = { ...target!, uint32, position: target!.position };
      },
    },
  ])("are left to the binding if it $what", async ({ change }) => {
    const { meta } = databases;
    const remove: typeof meta.remove = (key, done) => {
      const result = meta.remove(key, done);
      if (key === placeholder) change();
      return result;
    };
    const others = {
      getBinaryFast: meta.getBinaryFast.bind(meta),
      put: meta.put.bind(meta),
      ifNoExists: meta.ifNoExists.bind(meta),
    };
    Object.assign(databases, { meta: { ...meta, ...others, remove } });
    await queued(
      draftOf([
        ["cells", "a", Buffer.from("1")],
        ["cells", "b", Buffer.from("2")],
        ["cells", "a"],
      ]),
    );
    expect([stored("cells", "a"), stored("cells", "b")]).toEqual([undefined, "2"]);
    expect(leftOver()).toBeUndefined();
    expect(puts).toBe(2);
  });
});
