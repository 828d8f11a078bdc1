import { expect, test } from "vitest";
import type { RawRead } from "../../store/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { PassingStore } from "../wire/passing-store.js";
import { newestValue } from "./raw.js";
import { encodeWrite } from "./records.js";

const cell = { table: "accounts", row: Buffer.from("alice"), column: Buffer.from("balance") };

class Watched extends PassingStore {
  /** The number of versions that each read returned. */
  readonly counts: number[] = [];
  meanwhile: (() => Promise<unknown>) | undefined;

  override async readRaw(read: RawRead) {
    const page = await super.readRaw(read);
    this.counts.push(page.rows[0]?.cells[0]?.versions.length ?? 0);
    const { meanwhile } = this;
    this.meanwhile = undefined;
    await meanwhile?.();
    return page;
  }

  prewrite(start: number) {
    return this.#put("data", start, Buffer.from(`value of ${start}`));
  }

  /** Commits what was prewritten at `start`. */
  commit(start: number, kind: "put" | "delete" = "put") {
    return this.#put("write", start + 1, encodeWrite({ start, kind, onePhase: false, value: undefined }));
  }

  #put(part: "data" | "write", timestamp: number, value: Uint8Array) {
    const { table, row, column } = cell;
    return this.mutate({
      table,
      row,
      guards: [],
      mutations: [{ type: "put", column, part, timestamp, value }],
    });
  }
}

async function withVersions(): Promise<Watched> {
  const store = new Watched(memoryStore());
  for (let start = 2; start <= 2_000; start += 2) {
    await store.prewrite(start);
    await store.commit(start);
  }
  return store;
}

async function newestIn(store: Watched): Promise<string | undefined> {
  const newest = await newestValue(store, cell);
  return newest && `${Buffer.from(newest.value)}, committed at ${newest.commit}`;
}

test("the newest value of a cell with many versions is read with one version of each part", async () => {
  const store = await withVersions();
  expect(await newestIn(store)).toBe("value of 2000, committed at 2001");
  expect(store.counts).toEqual([2]);
});

test("the newest value is found below the data of a transaction that has not committed", async () => {
  const store = await withVersions();
  await store.prewrite(2_002);
  expect(await newestIn(store)).toBe("value of 2000, committed at 2001");
  expect(store.counts).toEqual([2, 3]);
});

test.each([
  { kind: "put", found: "value of 2002, committed at 2003" },
  { kind: "delete", found: undefined },
] as const)("a $kind that commits between the two reads counts", async ({ kind, found }) => {
  const store = await withVersions();
  await store.prewrite(2_002);
  store.meanwhile = () => store.commit(2_002, kind);
  expect(await newestIn(store)).toBe(found);
});
