import { describe, expect, test } from "vitest";
import { LendingStore } from "../../../test/support/lending-store.js";
import { columnPath } from "../../schema/index.js";
import { memoryStore } from "../../store/memory/index.js";
import { putHint } from "../../transaction/index.js";
import { acknowledgmentPrefix, decodeAcknowledgment, encodeAcknowledgment } from "./acknowledgment.js";
import {
  bucketOf,
  bucketPrefix,
  buckets,
  deleteHint,
  freshState,
  hintAddress,
  hintPrefix,
  parseHintRow,
  prefixRange,
  readCrashRecord,
  readHints,
  writeCrashRecord,
  writeHintState,
} from "./hint.js";

const cell = { table: "documents", row: Buffer.from("a\0b"), column: columnPath("anchors", "q") };

describe("hints", () => {
  test("a hint's address names the observer, and sorts by observer and bucket", () => {
    const address = hintAddress(hintPrefix("length"), cell);
    expect(parseHintRow(address.row)).toEqual({
      observer: "length",
      bucket: bucketOf(cell.row),
      row: cell.row,
    });
    expect(address.column).toBe(cell.column);
    const other = hintAddress(hintPrefix("length2"), cell);
    const { start, end } = prefixRange(bucketPrefix(hintPrefix("length"), bucketOf(cell.row)));
    const isIn = (row: Uint8Array) => Buffer.compare(row, start!.row) >= 0 && Buffer.compare(row, end!) < 0;
    expect(isIn(address.row)).toBe(true);
    expect(isIn(other.row)).toBe(false);
    expect(parseHintRow(Buffer.from("nothing"))).toBeUndefined();
  });

  test("a crash record is read before its bytes are used for another read", async () => {
    const store = new LendingStore(memoryStore());
    const address = hintAddress(hintPrefix("length"), cell);
    await writeCrashRecord(store, address, { crashes: 2, countedUpTo: 7 });
    expect(await readCrashRecord(store, address)).toEqual({ crashes: 2, countedUpTo: 7 });
  });

  test("rows are spread over the buckets", () => {
    const counts = new Array<number>(buckets).fill(0);
    for (let index = 0; index < 6_400; index++) counts[bucketOf(Buffer.from(`row ${index}`))]!++;
    expect(Math.min(...counts)).toBeGreaterThan(50);
    expect(Math.max(...counts)).toBeLessThan(170);
  });

  test("a state is kept as long as the hint exists, and never recreates it", async () => {
    const store = memoryStore();
    const address = hintAddress(hintPrefix("length"), cell);
    const { table, row, column } = address;
    await store.mutate({ table, row, guards: [], mutations: [putHint(column, 5), putHint(column, 9)] });
    const state = { ...freshState, attempts: 2, notBefore: 77, error: "no luck" };
    expect(await writeHintState(store, address, 9, state)).toBe("applied");
    const read = async () => (await readHints(store, { start: undefined, end: undefined }, 10)).hints;
    expect(await read()).toMatchObject([{ observer: "length", row: cell.row, timestamp: 9, state }]);
    await store.mutate(deleteHint(address, 8));
    expect(await read()).toHaveLength(1);
    await store.mutate(deleteHint(address, 9));
    expect(await read()).toEqual([]);
    expect(await writeHintState(store, address, 9, state)).toBe("rejected");
    expect(await read()).toEqual([]);
  });
});

describe("acknowledgments", () => {
  test("decode to the encoded acknowledgment", () => {
    const acknowledgment = { start: Number.MAX_SAFE_INTEGER, version: 2 ** 31 - 1, chain: 1_000 };
    expect(decodeAcknowledgment(encodeAcknowledgment(acknowledgment))).toEqual(acknowledgment);
    expect(() => decodeAcknowledgment(Buffer.alloc(3))).toThrow("cannot be read");
  });

  test("sort after all columns of the user", () => {
    expect(Buffer.compare(acknowledgmentPrefix("a"), Buffer.from("zzz"))).toBe(1);
  });
});
