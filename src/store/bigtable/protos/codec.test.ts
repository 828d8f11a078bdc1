import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { protos } from "../../../../test/support/bigtable/service.js";
import { decodeTimestamp, encodeTimestamp, timestampRange } from "../read/timestamps.js";
import * as codec from "./codec.js";
import { fromInt64, int64 } from "./int64.js";

const bytes = () => fc.uint8Array({ maxLength: 40 }).map((array) => Buffer.from(array));
const plainInt64 = fc.record({ low: fc.nat(0xffff_ffff), high: fc.nat(0xffff_ffff) });

const type = (name: string) => protos.lookupType(`google.bigtable.v2.${name}`);

/** Removes unset fields. */
function compact(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Buffer.from(value as Uint8Array).toString("hex");
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(entries.map(([key, each]) => [key, compact(each)]));
}

describe("the codec", () => {
  it("encodes messages that another codec decodes", () => {
    const filter: fc.Arbitrary<codec.RowFilter> = fc.letrec<{ filter: codec.RowFilter }>((tie) => ({
      filter: fc.oneof(
        { depthSize: "small" },
        fc.record({
          columnRangeFilter: fc.record({
            familyName: fc.constantFrom("lock", "write"),
            startQualifierClosed: bytes(),
            endQualifierOpen: bytes(),
          }),
        }),
        fc.record({ cellsPerRowLimitFilter: fc.nat() }),
        fc.record({ stripValueTransformer: fc.constant(true) }),
        fc.record({ valueRangeFilter: fc.record({ startValueClosed: bytes(), endValueClosed: bytes() }) }),
        fc.record({ chain: fc.record({ filters: fc.array(tie("filter"), { maxLength: 3 }) }) }),
        fc.record({ interleave: fc.record({ filters: fc.array(tie("filter"), { maxLength: 3 }) }) }),
      ),
    })).filter;
    const put = fc.record({
      setCell: fc.record({
        familyName: fc.constantFrom("data", "txn"),
        columnQualifier: bytes(),
        timestampMicros: fc.maxSafeNat().map(int64),
        value: bytes(),
      }),
    });
    const request = fc.record({
      tableName: fc.string({ minLength: 1 }),
      appProfileId: fc.string({ minLength: 1 }),
      rowKey: bytes(),
      predicateFilter: filter,
      trueMutations: fc.array(put, { maxLength: 3 }),
    });
    fc.assert(
      fc.property(request, (message) => {
        const other = type("CheckAndMutateRowRequest");
        const read = other.toObject(other.decode(codec.encodeCheckAndMutateRowRequest(message)));
        const expected = other.toObject(
          other.fromObject(JSON.parse(JSON.stringify(message, forOther)) as Record<string, unknown>),
        );
        expect(compact(read)).toEqual(compact(expected));
      }),
    );
  });

  it("decodes messages that another codec encodes", () => {
    const chunk = fc.record({
      rowKey: bytes(),
      familyName: fc.option(fc.record({ value: fc.constantFrom("", "lock") }), { nil: undefined }),
      qualifier: fc.option(fc.record({ value: bytes() }), { nil: undefined }),
      timestampMicros: fc.maxSafeNat(),
      value: bytes(),
      valueSize: fc.nat(),
      commitRow: fc.constantFrom(true, undefined),
    });
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 5 }), bytes(), (chunks, lastScannedRowKey) => {
        const other = type("ReadRowsResponse");
        const written = other.encode(other.fromObject({ chunks, lastScannedRowKey })).finish();
        const read = codec.decodeReadRowsResponse(Buffer.from(written));
        expect((read.chunks ?? []).length).toBe(chunks.length);
        expect(Buffer.from(read.lastScannedRowKey ?? [])).toEqual(lastScannedRowKey);
        for (const [index, each] of chunks.entries()) {
          const shown = read.chunks![index]!;
          expect(Buffer.from(shown.rowKey ?? [])).toEqual(each.rowKey);
          expect(shown.familyName).toEqual(each.familyName?.value);
          expect(shown.qualifier && Buffer.from(shown.qualifier)).toEqual(each.qualifier?.value);
          expect(shown.timestampMicros ? fromInt64(shown.timestampMicros) : 0).toBe(each.timestampMicros);
          expect(Buffer.from(shown.value ?? [])).toEqual(each.value);
          expect([shown.valueSize ?? 0, shown.commitRow]).toEqual([each.valueSize, each.commitRow]);
        }
      }),
    );
  });

  it("keeps 64 bits, and refuses an endless varint", () => {
    fc.assert(
      fc.property(plainInt64, (index) => {
        const other = type("MutateRowsResponse");
        const value = BigInt(index.high) * 2n ** 32n + BigInt(index.low);
        const digits: number[] = [];
        for (let rest = value; ; rest >>= 7n) {
          digits.push(Number(rest & 127n) | (rest > 127n ? 128 : 0));
          if (rest <= 127n) break;
        }
        const entry = [8, ...digits];
        const read = codec.decodeMutateRowsResponse(Buffer.from([10, entry.length, ...entry]));
        expect(read.entries?.[0]?.index).toEqual(index);
        expect(other.name).toBe("MutateRowsResponse");
      }),
    );
    const endless = Buffer.from([10, 12, 8, ...new Array(11).fill(255)]);
    expect(() => codec.decodeMutateRowsResponse(endless)).toThrow();
  });
});

describe("the codec over protobufjs 7", () => {
  it("encodes the same bytes as over 8, and decodes them", async () => {
    // The version that gRPC depends on.
    const fromGrpc = createRequire(createRequire(import.meta.url).resolve("@grpc/proto-loader"));
    expect((fromGrpc("protobufjs/package.json") as { version: string }).version).toMatch(/^7\./);
    vi.resetModules();
    vi.doMock("../packages.js", () => fromGrpc("protobufjs/minimal.js"));
    const older = await import("./codec.js");
    vi.doUnmock("../packages.js");
    expect(older.encodeMutateRowRequest).not.toBe(codec.encodeMutateRowRequest);
    const put = fc.record({
      columnQualifier: bytes(),
      timestampMicros: fc.maxSafeNat().map(int64),
      value: bytes(),
    });
    fc.assert(
      fc.property(fc.array(put, { maxLength: 3 }), fc.string(), (cells, tableName) => {
        const message = { tableName, mutations: cells.map((setCell) => ({ setCell })) };
        expect(older.encodeMutateRowRequest(message)).toEqual(codec.encodeMutateRowRequest(message));
      }),
    );
    const response = fc.record({
      rowKey: bytes(),
      familyName: fc.record({ value: fc.string() }),
      timestampMicros: fc.maxSafeNat(),
      value: bytes(),
    });
    fc.assert(
      fc.property(fc.array(response, { maxLength: 3 }), (chunks) => {
        const other = type("ReadRowsResponse");
        const written = Buffer.from(other.encode(other.fromObject({ chunks })).finish());
        expect(older.decodeReadRowsResponse(written)).toEqual(codec.decodeReadRowsResponse(written));
      }),
    );
  });
});

describe("timestamps", () => {
  it("are the service's microseconds, exact for every safe integer", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (timestamp) => {
        const { low, high } = encodeTimestamp(timestamp);
        expect(BigInt(high) * 2n ** 32n + BigInt(low)).toBe(BigInt(timestamp) * 1_000n);
        expect(decodeTimestamp({ low, high })).toBe(timestamp);
      }),
    );
    const { low, high } = encodeTimestamp(Number.MAX_SAFE_INTEGER);
    expect(high).toBeLessThan(2 ** 31);
    expect(decodeTimestamp({ low, high })).toBe(Number.MAX_SAFE_INTEGER);
  });

  it("form ranges; empty and unlimited ranges are not sent", () => {
    const forever = Number.POSITIVE_INFINITY;
    expect(timestampRange(0, forever)).toBeUndefined();
    expect([timestampRange(5, 5), timestampRange(7, 3), timestampRange(0, 0)]).toEqual([
      "none",
      "none",
      "none",
    ]);
    expect(timestampRange(2 ** 53, forever)).toBe("none");
    expect(timestampRange(5, forever)).toEqual({
      startTimestampMicros: int64(5_000),
      endTimestampMicros: undefined,
    });
    expect(timestampRange(0, 6)).toEqual({
      startTimestampMicros: undefined,
      endTimestampMicros: int64(6_000),
    });
    expect(timestampRange(4.5, 6.5)).toEqual(timestampRange(5, 7));
  });
});

/**
 * A replacer for `JSON.stringify` that writes bytes as base64 and 64-bit integers as text, as the
 * other codec reads them.
 */
function forOther(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ("type" in value && value.type === "Buffer") return Buffer.from(value as never).toString("base64");
  if ("low" in value && "high" in value) return String(fromInt64(value as { low: number; high: number }));
  return value;
}
