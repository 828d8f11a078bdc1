import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CsvParser, csvFields } from "./csv-parser.js";
import { LineParser } from "./line-parser.js";
import { type FileRecord, maxRecordBytes, type RecordParser } from "./record.js";

const form = { delimiter: ",", quote: '"' };

function all(parser: RecordParser, parts: Iterable<Uint8Array>): readonly FileRecord[] {
  const records: FileRecord[] = [];
  for (const part of parts) records.push(...parser.push(Buffer.from(part)));
  records.push(...parser.end());
  return records;
}

/** Divides bytes into parts of one size. */
function* divided(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

function parse(text: string, size = 7) {
  return all(new CsvParser(form), divided(Buffer.from(text), size)).map(({ line, content, problem }) =>
    problem === undefined ? [line, ...csvFields(content, form)] : [line, { problem }],
  );
}

describe("the CSV parser", () => {
  it("reads what it has written, from parts of any size", () => {
    const field = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", '"', ",", "\n", "\r", "é", "😀", " ") }),
      fc.string({ unit: "binary" }),
      fc.constant(undefined),
    );
    const rows = fc.array(fc.array(field, { minLength: 2, maxLength: 5 }), { maxLength: 12 });
    const needsQuotes = (text: string) => text === "" || /[",\r\n]/.test(text);
    const written = (value: string | undefined, isQuoted: boolean) =>
      value === undefined ? "" : isQuoted || needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value;
    fc.assert(
      fc.property(
        rows,
        fc.constantFrom("\n", "\r\n"),
        fc.boolean(),
        fc.boolean(),
        fc.integer({ min: 1, max: 40 }),
        (table, end, isQuoted, hasLastEnd, size) => {
          const text = table.map((row) => row.map((each) => written(each, isQuoted)).join(",")).join(end);
          fc.pre(!text.startsWith("\ufeff"));
          const bytes = Buffer.from(text + (hasLastEnd ? end : ""));
          const records = all(new CsvParser(form), divided(bytes, size));
          expect(records.map(({ problem }) => problem)).toEqual(table.map(() => undefined));
          expect(records.map(({ content }) => csvFields(content, form))).toEqual(table);
          const joined = Buffer.concat(records.map((record) => record.bytes));
          expect(joined.equals(bytes)).toBe(table.length > 0 || bytes.length === 0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("never fails on any bytes, and its records are the file", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(0x61, 0x22, 0x2c, 0x0a, 0x0d, 0xc3, 0xa9, 0x00), { maxLength: 60 }),
        fc.integer({ min: 1, max: 9 }),
        (numbers, size) => {
          const bytes = Buffer.from(numbers);
          const records = all(new CsvParser(form), divided(bytes, size));
          const joined = Buffer.concat(records.map((record) => record.bytes));
          expect(bytes.subarray(0, joined.length).equals(joined)).toBe(true);
          expect(/^[\r\n]*$/.test(bytes.subarray(joined.length).toString("latin1"))).toBe(true);
          // Parts of another size give the same records.
          const again = all(new CsvParser(form), [bytes]);
          expect(again).toEqual(records);
          for (const { content, problem } of records) if (problem === undefined) csvFields(content, form);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("takes a byte order mark, both line ends, blank lines, and quotes with anything in them", () => {
    expect(parse('\ufeffa,b\r\n\r\n1,"x\r\ny"\n\n"say ""hi""",\n,""\n3,4')).toEqual([
      [1, "a", "b"],
      [3, "1", "x\r\ny"],
      [6, 'say "hi"', undefined],
      [7, undefined, ""],
      [8, "3", "4"],
    ]);
    expect(parse('\ufeff"a",b\n')).toEqual([[1, "a", "b"]]);
    expect(parse("")).toEqual([]);
    expect(parse("\ufeff")).toEqual([]);
    expect(parse("\r\n\n")).toEqual([]);
    expect(parse('""')).toEqual([[1, ""]]);
  });

  it("names what breaks the rules, and goes on with the next line", () => {
    const broken = (text: string) => parse(`ok,1\n${text}\nok,2\n`);
    const found = (problem: RegExp) => [
      [1, "ok", "1"],
      [2, { problem: expect.stringMatching(problem) }],
      [3, "ok", "2"],
    ];
    expect(broken('a"b,c')).toEqual(found(/a quote is in the middle of a field/));
    expect(broken('"a"b,c')).toEqual(found(/text follows the quote/));
    expect(broken("a\rb,c")).toEqual(found(/a carriage return is not followed/));
    expect(parse('ok,1\n"a,\nb\n')).toEqual([
      [1, "ok", "1"],
      [2, { problem: "the quote that opens on line 2 is not closed" }],
    ]);
    const notText = all(new CsvParser(form), [Buffer.from([0x61, 0xff, 0x0a, 0x62])]);
    expect(notText.map(({ problem }) => problem)).toEqual(["it is not UTF-8", undefined]);
  });

  it("takes other delimiters and quotes", () => {
    const other = { delimiter: "\t", quote: "'" };
    const [record] = all(new CsvParser(other), [Buffer.from("a,\"b\t'c''\td'\n")]);
    expect(csvFields(record!.content, other)).toEqual(['a,"b', "c'\td"]);
  });

  it("takes a field of many parts in linear time, and refuses an endless one", () => {
    const long = "x\n".repeat(2 ** 20);
    const [first, second] = parse(`a,"${long}"\nb,1\n`, 1_000);
    expect(first).toEqual([1, "a", long]);
    expect(second).toEqual([2 ** 20 + 2, "b", "1"]);
    const part = Buffer.alloc(2 ** 20, "y");
    const endless = () =>
      all(new CsvParser(form), [Buffer.from('"'), ...Array(maxRecordBytes / part.length).fill(part)]);
    expect(endless).toThrow(/begins on line 1 has more than .* bytes\. In CSV, check whether a quote/);
    expect(() => all(new CsvParser(form), [Buffer.from([0xff, 0xfe, 0x61, 0, 0x0a, 0])])).toThrow(/UTF-16/);
  });

  it.each([
    ["CSV", () => new CsvParser(form)],
    ["JSON", () => new LineParser()],
  ])("copies blank lines once, however many there are: %s", (_, parser) => {
    const bytes = Buffer.from(`${"\n".repeat(2_000)}1\n`);
    let copied = 0;
    const concat = Buffer.concat.bind(Buffer);
    const spy = vi.spyOn(Buffer, "concat").mockImplementation((parts) => {
      for (const { length } of parts) copied += length;
      return concat(parts);
    });
    onTestFinished(() => spy.mockRestore());
    const records = all(parser(), divided(bytes, 700));
    expect(copied).toBeLessThanOrEqual(bytes.length);
    expect(records.map(({ line, content }) => [line, content.toString()])).toEqual([[2_001, "1"]]);
    expect(records[0]!.bytes.equals(bytes)).toBe(true);
  });

  it("divides lines of JSON likewise", () => {
    const text = '\ufeff{"a":1}\r\n\n{"a":"\\n"}\n{"a":2}';
    for (const size of [1, 3, 100]) {
      const records = all(new LineParser(), divided(Buffer.from(text), size));
      expect(records.map(({ line, content }) => [line, content.toString()])).toEqual([
        [1, '{"a":1}'],
        [3, '{"a":"\\n"}'],
        [4, '{"a":2}'],
      ]);
      expect(Buffer.concat(records.map(({ bytes }) => bytes)).toString()).toBe(text);
    }
  });
});
