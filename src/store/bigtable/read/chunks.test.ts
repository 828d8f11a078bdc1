import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StoreError } from "../../../errors/index.js";
import type { ReadRowsResponse, ReadRowsResponseCellChunk } from "../protos/codec.js";
import { type ReadRow, RowAssembler } from "./chunks.js";
import { encodeTimestamp } from "./timestamps.js";

interface PlainCell {
  readonly family: string;
  readonly column: string;
  readonly timestamp: number;
  readonly value: string;
}

type PlainRow = readonly [key: string, cells: readonly PlainCell[]];

const latin1 = (text: string) => Buffer.from(text, "latin1");
const plain = (bytes: Uint8Array) => Buffer.from(bytes).toString("latin1");

const cell = fc.record({
  family: fc.constantFrom("lock", "write", "data"),
  column: fc.constantFrom("", "a", "b\0"),
  timestamp: fc.nat(1_000),
  value: fc.string({ maxLength: 6, unit: "binary-ascii" }),
});
const someRows = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 3, unit: "binary-ascii" }), { maxLength: 4 })
  .chain((keys) =>
    fc.tuple(
      ...keys
        .sort((a, b) => Buffer.compare(latin1(a), latin1(b)))
        .map((key) => fc.tuple(fc.constant(key), fc.array(cell, { minLength: 1, maxLength: 4 }))),
    ),
  ) as fc.Arbitrary<PlainRow[]>;

/**
 * Divides rows into chunks and messages in one of the ways that a service may use. `draw` decides.
 */
function divide(rows: readonly PlainRow[], draw: () => number): ReadRowsResponse[] {
  const chunks: ReadRowsResponseCellChunk[] = [];
  for (const [key, cells] of rows) {
    if (draw() % 4 === 0) {
      // Begins a row, and resets it.
      chunks.push(
        ...rowChunks(key, cells.slice(0, 1), draw).map((each) => ({ ...each, commitRow: undefined })),
      );
      if (chunks.at(-1)!.valueSize) chunks.pop();
      chunks.push({ resetRow: true });
    }
    chunks.push(...rowChunks(key, cells, draw));
  }
  const messages: ReadRowsResponse[] = [];
  while (chunks.length > 0) messages.push({ chunks: chunks.splice(0, 1 + (draw() % 3)) });
  return messages;
}

function rowChunks(
  key: string,
  cells: readonly PlainCell[],
  draw: () => number,
): ReadRowsResponseCellChunk[] {
  const chunks: ReadRowsResponseCellChunk[] = [];
  let last: PlainCell | undefined;
  for (const [index, each] of cells.entries()) {
    const sameFamily = last?.family === each.family && draw() % 2 === 0;
    const sameColumn = sameFamily && last?.column === each.column && draw() % 2 === 0;
    const named = {
      rowKey: index === 0 || draw() % 3 === 0 ? latin1(key) : undefined,
      familyName: sameFamily ? undefined : each.family,
      qualifier: sameColumn ? undefined : latin1(each.column),
      timestampMicros: encodeTimestamp(each.timestamp),
    };
    const pieces: string[] = [];
    for (let rest = each.value; ; ) {
      const length = draw() % 3 === 0 ? draw() % 4 : rest.length;
      pieces.push(rest.slice(0, length));
      rest = rest.slice(length);
      if (rest === "") break;
    }
    for (const [at, piece] of pieces.entries()) {
      const end = at === pieces.length - 1;
      chunks.push({
        ...(at === 0 ? named : {}),
        value: latin1(piece),
        valueSize: end ? undefined : each.value.length,
        commitRow: end && index === cells.length - 1 ? true : undefined,
      });
    }
    last = each;
  }
  return chunks;
}

function assemble(messages: readonly ReadRowsResponse[], reversed = false): PlainRow[] {
  const rows: ReadRow[] = [];
  const assembler = new RowAssembler((row) => rows.push(row), reversed);
  for (const message of messages) assembler.push(message);
  assembler.end();
  return rows.map(({ key, cells }) => [
    plain(key),
    cells.map((each) => ({
      family: each.part,
      column: plain(each.column),
      timestamp: each.timestamp,
      value: plain(each.value),
    })),
  ]);
}

const begin: ReadRowsResponseCellChunk = {
  rowKey: latin1("k"),
  familyName: "write",
  qualifier: latin1("c"),
  timestampMicros: encodeTimestamp(1),
  value: latin1("v"),
};

describe("rows from chunks", () => {
  it("are the same however the service divides them", () => {
    fc.assert(
      fc.property(someRows, fc.infiniteStream(fc.nat(1_000)), (rows, stream) => {
        const draws = stream[Symbol.iterator]();
        expect(assemble(divide(rows, () => draws.next().value as number))).toEqual(rows);
      }),
      { numRuns: 500 },
    );
  });

  it("come in reverse if requested", () => {
    const row = (key: string) => ({ chunks: [{ ...begin, rowKey: latin1(key), commitRow: true }] });
    expect(assemble([row("b"), row("a")], true).map(([key]) => key)).toEqual(["b", "a"]);
    expect(() => assemble([row("a"), row("b")], true)).toThrow("out of order");
    expect(() => assemble([row("b"), row("a")])).toThrow("out of order");
    expect(() => assemble([row("a"), row("a")])).toThrow("out of order");
  });

  it("show how far the service has read, even if it found nothing to return", () => {
    const assembler = new RowAssembler(() => undefined);
    assembler.push({ lastScannedRowKey: latin1("m") });
    expect(plain(assembler.lastKey!)).toBe("m");
    expect(() => assembler.push({ chunks: [{ ...begin, commitRow: true }] })).toThrow("out of order");
    assembler.push({ chunks: [{ ...begin, rowKey: latin1("n"), commitRow: true }] });
    expect(plain(assembler.lastKey!)).toBe("n");
  });

  it.each<[string, readonly ReadRowsResponse[]]>([
    ["ended within a row", [{ chunks: [begin] }]],
    ["began a row without its key", [{ chunks: [{ ...begin, rowKey: undefined }] }]],
    ["without its key, family", [{ chunks: [{ ...begin, familyName: undefined }] }]],
    ["family or column", [{ chunks: [{ ...begin, qualifier: undefined }] }]],
    ["before the last one was complete", [{ chunks: [begin, { ...begin, rowKey: latin1("l") }] }]],
    ["a family without a column", [{ chunks: [begin, { familyName: "lock", value: latin1("") }] }]],
    ["reset a row that it had not begun", [{ chunks: [{ resetRow: true }] }]],
    ["reset a row and sent more", [{ chunks: [begin, { resetRow: true, value: latin1("x") }] }]],
    ["ended a row within a value", [{ chunks: [{ ...begin, valueSize: 9, commitRow: true }] }]],
    ["began a cell within a value", [{ chunks: [{ ...begin, valueSize: 9 }, begin] }]],
    ["reported its position within a row", [{ chunks: [begin], lastScannedRowKey: latin1("z") }]],
  ])("are refused from a service that %s", (why, messages) => {
    expect(() => assemble(messages)).toThrow(StoreError);
    expect(() => assemble(messages)).toThrow(why);
  });
});
