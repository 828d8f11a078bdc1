import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StoreDamagedError } from "../../errors/index.js";
import {
  decodeLock,
  decodeStatus,
  decodeWrite,
  encodeLock,
  encodeStatus,
  encodeWrite,
  type LockRecord,
  type StatusRecord,
  type WriteRecord,
  writeForm,
} from "./records.js";

const timestamp = fc.maxSafeNat();
const bytes = fc.uint8Array({ maxLength: 20 }).map((list) => Buffer.from(list));

const writes: fc.Arbitrary<WriteRecord> = fc.oneof(
  fc.record({
    start: timestamp,
    kind: fc.constant("put" as const),
    onePhase: fc.boolean(),
    loaded: fc.boolean(),
    value: fc.option(bytes, { nil: undefined }),
  }),
  fc.record({
    start: timestamp,
    kind: fc.constant("delete" as const),
    onePhase: fc.boolean(),
    loaded: fc.constant(false),
    value: fc.constant(undefined),
  }),
);

const lockParts = {
  minCommit: timestamp,
  primary: fc.record({
    table: fc.string({ minLength: 1, maxLength: 8 }).filter((name) => !name.includes("\0")),
    row: bytes,
    column: bytes,
  }),
  session: fc.string({ unit: "grapheme", maxLength: 10 }),
  refreshedAt: fc.double({ noNaN: true, noDefaultInfinity: true }),
  ttlMs: fc.nat({ max: 2 ** 32 - 1 }),
  others: fc.array(bytes, { maxLength: 3 }),
};

const locks: fc.Arbitrary<LockRecord> = fc.oneof(
  fc.record({
    ...lockParts,
    kind: fc.constant("put" as const),
    value: fc.option(bytes, { nil: undefined }),
  }),
  fc.record({ ...lockParts, kind: fc.constant("delete" as const), value: fc.constant(undefined) }),
);

const statuses: fc.Arbitrary<StatusRecord> = fc.oneof(
  fc.record({ outcome: fc.constant("committed" as const), commit: timestamp }),
  fc.constant({ outcome: "rolled-back" as const }),
);

/** One of the protocol's records, with its encoder and decoder. */
interface Form<R> {
  readonly name: string;
  readonly records: fc.Arbitrary<R>;
  readonly encode: (record: R) => Buffer;
  readonly decode: (bytes: Uint8Array) => R;
}

const forms = [
  { name: "write", records: writes, encode: encodeWrite, decode: decodeWrite },
  { name: "lock", records: locks, encode: encodeLock, decode: decodeLock },
  { name: "status", records: statuses, encode: encodeStatus, decode: decodeStatus },
] as unknown as readonly Form<WriteRecord>[];

/**
 * Decodes a record. Returns undefined if the decoder refuses the bytes, which it must do with an
 * error of this package.
 */
function decoded<R>({ decode }: Form<R>, stored: Uint8Array): R | undefined {
  try {
    return decode(stored);
  } catch (error) {
    expect(error).toBeInstanceOf(StoreDamagedError);
    return undefined;
  }
}

describe.each(forms)("a $name record", (form) => {
  const { records, encode, decode } = form;

  test("decodes to the encoded record", () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(decode(encode(record))).toEqual(record);
      }),
    );
  });

  test("gives a named error or a record that encodes to the same bytes, whatever the bytes", () => {
    const damaged = fc
      .tuple(records, fc.nat(), fc.nat({ max: 255 }), fc.nat())
      .map(([record, at, byte, cut]) => {
        const whole = encode(record);
        whole[at % whole.length] = byte;
        return cut % 3 === 0 ? whole.subarray(0, cut % (whole.length + 1)) : whole;
      });
    fc.assert(
      fc.property(fc.oneof(damaged, fc.uint8Array({ maxLength: 60 })), (stored) => {
        const record = decoded(form, stored);
        if (record !== undefined) expect(encode(record)).toEqual(Buffer.from(stored));
      }),
      { numRuns: 1_000 },
    );
  });

  test("is refused if it was truncated, except in its value, which has no length of its own", () => {
    fc.assert(
      fc.property(records, (record) => {
        const whole = encode(record);
        const fixed = whole.length - (record.value?.length ?? 0);
        for (let length = 0; length < fixed; length++) {
          expect(decoded(form, whole.subarray(0, length)), `${length} of ${whole.length}`).toBeUndefined();
        }
      }),
    );
  });

  test("is refused with additional bytes, unless it ends with its value", () => {
    fc.assert(
      fc.property(records, (record) => {
        if (record.value !== undefined) return;
        expect(decoded(form, Buffer.concat([encode(record), Buffer.of(0)]))).toBeUndefined();
      }),
    );
  });
});

describe("the kind of a write record", () => {
  test("is read without the rest, and equals that of the whole record", () => {
    fc.assert(
      fc.property(writes, (record) => {
        const expected =
          record.kind === "delete"
            ? "delete"
            : record.value === undefined
              ? "elsewhere"
              : record.loaded
                ? "loaded"
                : "value";
        expect(writeForm(encodeWrite(record))).toBe(expected);
      }),
    );
  });

  test.each([
    ["", 0],
    ["flags that nobody writes", 0x10, ...Array(8).fill(0)],
    ["a deletion by a bulk load", 0x09, ...Array(8).fill(0)],
    ["a deletion with a value", 1, ...Array(9).fill(0)],
    ["a deletion whose value is elsewhere", 3, ...Array(8).fill(0)],
    ["a value that is both here and elsewhere", 2, ...Array(9).fill(0)],
    ["a header cut off", 0, 0, 0, 0, 0, 0, 0, 0],
  ])("is refused: %s", (_, ...stored) => {
    expect(() => writeForm(Uint8Array.from(stored as number[]))).toThrow(StoreDamagedError);
    expect(() => decodeWrite(Uint8Array.from(stored as number[]))).toThrow(StoreDamagedError);
  });
});

describe("a lock", () => {
  const lock: LockRecord = {
    minCommit: 7,
    kind: "put",
    primary: { table: "t", row: Buffer.from("r"), column: Buffer.from("c") },
    session: "s",
    refreshedAt: 1,
    ttlMs: 1,
    value: undefined,
    others: [],
  };

  test.each([
    [Number.NaN, "would never expire"],
    [Number.POSITIVE_INFINITY, "never was"],
  ])("refreshed at %d is refused: it %s", (refreshedAt) => {
    expect(() => decodeLock(encodeLock({ ...lock, refreshedAt }))).toThrow(StoreDamagedError);
  });

  test("names a possible table", () => {
    for (const table of ["", "a\0b", "x".repeat(65)]) {
      const stored = encodeLock({ ...lock, primary: { ...lock.primary, table } });
      expect(() => decodeLock(stored), table).toThrow(StoreDamagedError);
    }
  });
});
