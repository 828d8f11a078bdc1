import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StoreDamagedError } from "../errors/index.js";
import { type Acknowledgment, decodeAcknowledgment, encodeAcknowledgment } from "./hint/acknowledgment.js";
import { decodeParkedEntry, encodeParkedEntry, type ParkedEntry } from "./hint/parked-entry.js";
import { type BackfillState, decodeBackfill, encodeBackfill } from "./registry/backfill-state.js";
import {
  decodeForgotten,
  decodeStoredObserver,
  decodeStoredVersion,
  decodeTable,
  type StoredForgotten,
  type StoredObserver,
  type StoredVersion,
} from "./registry/cells.js";
import { encodeJson } from "./stored-json.js";

const timestamp = fc.maxSafeNat();
const count = fc.nat({ max: 2 ** 32 - 1 });
const time = fc.double({ min: 0, max: 4e12, noNaN: true });
const place = fc.option(
  fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
  { nil: undefined },
);
const word = fc.string({ maxLength: 8 });

const acknowledgments: fc.Arbitrary<Acknowledgment> = fc.record({
  start: timestamp,
  version: count,
  chain: count,
});

const backfills: fc.Arbitrary<BackfillState> = fc.record({
  id: fc.constant("an id"),
  start: place,
  end: place,
  cursor: place,
  column: place,
  version: count,
  marked: count,
});

const parkedEntries: fc.Arbitrary<ParkedEntry> = fc.record({
  start: timestamp,
  attempts: count,
  parkedAt: time,
  error: fc.record({ name: word, message: word }),
});

const observed = { table: word, column: word, kind: fc.constantFrom("column", "family", "signal" as const) };
const observers: fc.Arbitrary<StoredObserver> = fc.record({
  ...observed,
  kind: observed.kind as fc.Arbitrary<"column" | "family" | "signal">,
});
const versions: fc.Arbitrary<StoredVersion> = fc.record({ version: count, recordedAt: time });
const forgotten: fc.Arbitrary<StoredForgotten> = fc
  .tuple(observers, timestamp)
  .map(([observer, upTo]) => ({ ...observer, upTo }));
const tables = fc.record({
  name: fc.constant("documents"),
  key: word,
  columns: fc.array(
    fc.record({ name: word, kind: fc.constant("column"), codec: fc.option(word, { nil: null }) }),
    { maxLength: 3 },
  ),
});

interface Form {
  readonly name: string;
  readonly records: fc.Arbitrary<unknown>;
  readonly encode: (record: never) => Buffer;
  readonly decode: (bytes: Uint8Array) => unknown;
}

const forms: readonly Form[] = [
  {
    name: "an acknowledgment",
    records: acknowledgments,
    encode: encodeAcknowledgment,
    decode: decodeAcknowledgment,
  },
  {
    name: "a backfill",
    records: backfills,
    encode: encodeBackfill,
    decode: (bytes) => decodeBackfill(bytes, "an id"),
  },
  { name: "a parked entry", records: parkedEntries, encode: encodeParkedEntry, decode: decodeParkedEntry },
  {
    name: "an observer",
    records: observers,
    encode: encodeJson,
    decode: (bytes) => decodeStoredObserver(bytes, "o"),
  },
  {
    name: "a version",
    records: versions,
    encode: encodeJson,
    decode: (bytes) => decodeStoredVersion(bytes, "o"),
  },
  {
    name: "a forgotten observer",
    records: forgotten,
    encode: encodeJson,
    decode: (bytes) => decodeForgotten(bytes, "o"),
  },
  {
    name: "a table",
    records: tables,
    encode: encodeJson,
    decode: (bytes) => decodeTable(bytes, "documents"),
  },
];

/** Values of every JSON type, to replace a property of another type. */
const misfits = fc.constantFrom<unknown>(null, true, -1, 1.5, 1e300, "x", [], {}, [[]]);

describe.each(forms)("$name", ({ records, encode, decode }) => {
  test("decodes to the encoded record", () => {
    fc.assert(
      fc.property(records, (record) => {
        expect(decode(encode(record as never))).toEqual(record);
      }),
    );
  });

  test("names a truncated record in its error", () => {
    fc.assert(
      fc.property(records, fc.nat(), (record, cut) => {
        const whole = encode(record as never);
        expect(() => decode(whole.subarray(0, cut % whole.length))).toThrow(StoreDamagedError);
      }),
    );
  });

  test("names invalid bytes in its error, or decodes them to a record of its shape", () => {
    const bytes = fc.oneof(
      fc.tuple(records, fc.nat(), fc.nat({ max: 255 })).map(([record, at, byte]) => {
        const whole = encode(record as never);
        whole[at % whole.length] = byte;
        return whole;
      }),
      fc.uint8Array({ maxLength: 40 }),
      fc.json().map((text) => Buffer.from(text)),
    );
    fc.assert(
      fc.property(bytes, (stored) => {
        try {
          const read = decode(stored);
          expect(decode(encode(read as never))).toEqual(read);
        } catch (error) {
          if (!(error instanceof StoreDamagedError)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe.each(forms.slice(1))("$name with a property of another type", ({ records, encode, decode }) => {
  test("is named in the error, or decoded to a record of its shape", () => {
    fc.assert(
      fc.property(records, fc.nat(), misfits, (record, which, misfit) => {
        const json = JSON.parse(encode(record as never).toString()) as Record<string, unknown>;
        const names = Object.keys(json);
        json[names[which % names.length]!] = misfit;
        try {
          const read = decode(Buffer.from(JSON.stringify(json)));
          expect(decode(encode(read as never))).toEqual(read);
        } catch (error) {
          if (!(error instanceof StoreDamagedError)) throw error;
        }
      }),
    );
  });
});

test("JSON that is not a record is refused by name", () => {
  for (const { decode } of forms.slice(1)) {
    for (const text of ["null", "5", '"x"', "[]", "{}", "true"]) {
      expect(() => decode(Buffer.from(text))).toThrow(StoreDamagedError);
    }
  }
  expect(() => decodeTable(Buffer.from('{"name":"other","key":"text","columns":[]}'), "documents")).toThrow(
    StoreDamagedError,
  );
});
