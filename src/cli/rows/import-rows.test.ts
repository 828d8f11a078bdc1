import { existsSync } from "node:fs";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import {
  boolean,
  bytes,
  type Database,
  date,
  family,
  float,
  int,
  json,
  observer,
  open,
  table,
  text,
  tuple,
} from "percolatordb";
import { beforeEach, describe, expect, it } from "vitest";
import { builtLibrary } from "../../../test/support/built/library.js";
import { CommandLine, eventually, Printed } from "../../../test/support/command-line.js";
import { openAlone } from "../../../test/support/databases.js";
import { ledgerModule } from "../../../test/support/library.js";
import { ProgramProcess } from "../../../test/support/program-process.js";
import { maxRecordBytes } from "./record.js";

const { index: library } = builtLibrary();
const orders = table("orders", {
  customer: text(),
  cents: int(),
  weight: float(),
  paid: boolean(),
  at: date(),
  lines: json<unknown>(),
  image: bytes(),
  tags: family(text()),
});
const visits = table("visits", { seconds: float() }, { key: tuple(text(), int()) });

let cli: CommandLine;

beforeEach(async () => {
  cli = await CommandLine.create();
  await (await open(join(cli.folder, "data"), { tables: [orders, visits] })).close();
});

const write = (name: string, content: string | Uint8Array) => writeFile(join(cli.folder, name), content);
const read = (name: string) => readFile(join(cli.folder, name), "utf8");

async function inDatabase<T>(use: (db: Database) => Promise<T>): Promise<T> {
  await using db = await open(join(cli.folder, "data"), { create: false, collectEveryMs: 0 });
  return await use(db);
}

const row = (key: string) =>
  inDatabase(async (db) => {
    await using snapshot = await db.snapshot();
    return snapshot.row(orders, key);
  });

/** How often the cell of each row was written, by row. */
const writes = () =>
  inDatabase(async (db) => {
    await using snapshot = await db.snapshot();
    const found: [string, number][] = [];
    for await (const { row: key } of snapshot.scan(orders.cents)) {
      found.push([key, (await db.history(orders.cents, key)).length]);
    }
    return found;
  });

const into = ["--table", "orders", "--key", "id"];
const csv = ["--format", "csv", ...into];
const jsonl = ["--format", "jsonl", ...into];

/** A file of `count` orders, of which those of `wrong` have no number. */
const many = (count: number, wrong: readonly number[] = []) =>
  `id,cents\n${Array.from({ length: count }, (_, n) => `${String(n).padStart(6, "0")},${wrong.includes(n) ? "x" : n}\n`).join("")}`;

/** The same as lines of JSON. */
const manyObjects: typeof many = (count, wrong = []) =>
  Array.from(
    { length: count },
    (_, n) => `${JSON.stringify({ id: String(n).padStart(6, "0"), cents: wrong.includes(n) ? "x" : n })}\n`,
  ).join("");

describe("import --format csv", () => {
  it("writes typed values, and leaves empty fields and skipped columns out", async () => {
    await write(
      "orders.csv",
      "\ufeffid,name,cents,weight,paid,at,lines,image,tags:a,other\r\n" +
        'o1,"Ann ""A."", Ltd\r\n2nd",5,1.5,true,2026-01-02T03:04:05Z,"[1,{""a"":null}]",AP8=,x,?\r\n' +
        'o2,"",,-Infinity,false,,,,,?\r\n',
    );
    const options = [...csv, "--map", "name=customer", "--skip", "other"];
    const { code, documents, stderr } = await cli.run(["import", "data", "orders.csv", ...options, "--json"]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    expect(documents[0]).toMatchObject({
      file: "orders.csv",
      format: "csv",
      table: "orders",
      rows: 2,
      cells: 11,
      bad: 0,
      continuedAt: null,
      dryRun: false,
    });
    expect(await row("o1")).toEqual({
      customer: 'Ann "A.", Ltd\r\n2nd',
      cents: 5,
      weight: 1.5,
      paid: true,
      at: new Date("2026-01-02T03:04:05Z"),
      lines: [1, { a: null }],
      image: new Uint8Array([0, 255]),
      tags: new Map([["a", "x"]]),
    });
    expect(await row("o2")).toEqual({
      customer: "",
      weight: Number.NEGATIVE_INFINITY,
      paid: false,
      tags: new Map(),
    });
  });

  it("takes composite keys, delimiters, quotes, gzip and the standard input", async () => {
    await write("visits.csv.gz", gzipSync("'url';day;seconds\n'/a;b';20;1.5\n/c;-3;2\n"));
    const options = [
      "--format",
      "csv",
      "--table",
      "visits",
      "--key",
      "url,day",
      "--delimiter",
      ";",
      "--quote",
      "'",
    ];
    expect(await cli.run(["import", "data", "visits.csv.gz", ...options])).toMatchObject({ code: 0 });
    const stdin = "url\tday\tseconds\n/d\t1\t3\n";
    const tabs = [
      "--format",
      "csv",
      "--table",
      "visits",
      "--key",
      "url",
      "--key",
      "day",
      "--delimiter",
      "tab",
    ];
    expect(await cli.run(["import", "data", "-", ...tabs], { stdin })).toMatchObject({ code: 0 });
    await inDatabase(async (db) => {
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(visits.seconds, ["/a;b", 20])).toBe(1.5);
      expect(await snapshot.get(visits.seconds, ["/c", -3])).toBe(2);
      expect(await snapshot.get(visits.seconds, ["/d", 1])).toBe(3);
    });
  });

  it("takes a field of a megabyte, and the last of two rows with one key", async () => {
    const long = "é\n".repeat(350_000);
    await write("orders.csv", `id,customer\na,"${long}"\nb,first\nb,last\n`);
    expect(await cli.run(["import", "data", "orders.csv", ...csv])).toMatchObject({ code: 0 });
    expect((await row("a"))?.customer).toBe(long);
    expect((await row("b"))?.customer).toBe("last");
  });

  it("takes many narrow columns of rows with long keys, whose cells fill a transaction", async () => {
    const columns = Array.from({ length: 1_000 }, (_, n) => `tags:c${String(n).padStart(4, "0")}`);
    const record = (n: number) => `${"k".repeat(1_396)}${String(n).padStart(4, "0")},${"1,".repeat(999)}1\n`;
    await write("orders.csv", `id,${columns}\n${Array.from({ length: 46 }, (_, n) => record(n)).join("")}`);
    const { code, documents } = await cli.run(["import", "data", "orders.csv", ...csv, "--json"]);
    expect(code).toBe(0);
    expect(documents[0]).toMatchObject({ rows: 46, cells: 46_000 });
  });

  it("is refused before it changes anything if names are wrong", async () => {
    await write("orders.csv", "id,cents,colour\na,1,red\n");
    const refused = async (args: readonly string[], message: RegExp) => {
      const { code, stderr } = await cli.run(["import", "data", "orders.csv", ...args]);
      expect(stderr).toMatch(message);
      expect(code).toBe(2);
    };
    await refused(
      csv,
      /table orders has no column "colour"; it has customer, cents.*--map "colour=COLUMN".*--skip "colour"/,
    );
    await refused(
      [...csv, "--skip", "colour,size"],
      /The file has no column "size"; its header has id, cents, colour/,
    );
    await refused([...csv, "--map", "colour=size"], /table orders has no column "size"/);
    await refused([...csv, "--skip", "colour,cents"], /no column of the file would be imported/);
    await refused(["--format", "csv", "--table", "orders", "--key", "nr"], /The file has no column "nr"/);
    await refused(
      ["--format", "csv", "--table", "visits", "--key", "id"],
      /is \(text, int\), so --key takes 2 columns/,
    );
    await refused(["--format", "csv", "--table", "nothing", "--key", "id"], /no table "nothing"/);
    await refused(["--format", "csv", "--table", "orders"], /Give --key COLUMN/);
    await refused(["--format", "csv", "--key", "id"], /give --table NAME once/);
    await refused(["--key", "id"], /--key is for rows: give --format/);
    await refused([...csv, "--merge"], /leave out --merge/);
    await refused([...csv, "--observers"], /leave out --observers/);
    await refused([...csv, "--delimiter", "ab"], /one ASCII character, or tab/);
    await refused([...jsonl, "--delimiter", ";"], /are for --format csv/);
    await write("orders.csv", "id,cents,cents\na,1,2\n");
    await refused(csv, /The header names "cents" twice/);
    await write("orders.csv", "id,cents,price\na,1,2\n");
    await refused([...csv, "--map", "price=cents"], /Two columns of the file are for orders\.cents\./);
    expect(await writes()).toEqual([]);
  });

  it("needs a header, and takes a file without rows", async () => {
    await write("empty.csv", "");
    expect(await cli.run(["import", "data", "empty.csv", ...csv])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("empty.csv is empty: it has no header row"),
    });
    await write("header.csv", "id,cents");
    const { code, documents } = await cli.run(["import", "data", "header.csv", ...csv, "--json"]);
    expect(code).toBe(0);
    expect(documents[0]).toMatchObject({ rows: 0, cells: 0 });
  });

  it("stops at the first bad line before its batch, and continues there when it is corrected", async () => {
    await write("orders.csv", many(1_200, [700]));
    const { code, stderr } = await cli.run(["import", "data", "orders.csv", ...csv]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /orders\.csv, line 702, column "cents": orders\.cents does not take "x": "x" is not an integer.*500 rows before this batch are imported.*--max-bad N/,
    );
    expect(await writes()).toHaveLength(500);
    await write("orders.csv", many(1_200));
    const { documents } = await cli.run(["import", "data", "orders.csv", ...csv, "--json"]);
    expect(documents[0]).toMatchObject({ rows: 700, continuedAt: 502, bad: 0 });
    const written = await writes();
    expect(written).toHaveLength(1_200);
    expect(written.every(([, count]) => count === 1)).toBe(true);
    // The import has ended, so the next one begins at the first line.
    expect((await cli.run(["import", "data", "orders.csv", ...csv, "--json"])).documents[0]).toMatchObject({
      rows: 1_200,
      continuedAt: null,
    });
  });

  it("refuses to continue in another file or with other options, but for --restart", async () => {
    await write("orders.csv", many(1_200, [1_100]));
    await cli.run(["import", "data", "orders.csv", ...csv]);
    const other = await cli.run(["import", "data", "orders.csv", ...csv, "--map", "id=customer"]);
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/with other options stopped at line 1002/),
    });
    const changed = many(1_200).replace("000003,3", "000003,4");
    for (const content of [changed, many(10), ""]) {
      await write("orders.csv", content);
      const { code, stderr } = await cli.run(["import", "data", "orders.csv", ...csv]);
      expect(stderr).toMatch(
        /orders\.csv has changed before line 1002, where an earlier import stopped.*--restart/,
      );
      expect(code).toBe(2);
    }
    await write("orders.csv", changed);
    const { documents } = await cli.run(["import", "data", "orders.csv", ...csv, "--restart", "--json"]);
    expect(documents[0]).toMatchObject({ rows: 1_200, continuedAt: null });
    expect((await row("000003"))?.cents).toBe(4);
  });

  it("writes rejected lines to a report, each once, also if it is interrupted between", async () => {
    const wrong = [3, 600, 601, 1_150];
    await write("orders.csv", many(1_200, wrong).replace("000004,4", '0000"04,4'));
    const options = [...csv, "--bad", "bad.jsonl", "--max-bad", "4"];
    const stopped = await cli.run(["import", "data", "orders.csv", ...options]);
    expect(stopped).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/line 1152.*More than 4 lines are wrong/),
    });
    // As if the process had been killed after it wrote to the report.
    await appendFile(join(cli.folder, "bad.jsonl"), '{"line":1152}\n');
    const more = [...csv, "--bad", "bad.jsonl", "--max-bad", "5"];
    const { code, documents } = await cli.run(["import", "data", "orders.csv", ...more, "--json"]);
    expect(code).toBe(0);
    expect(documents[0]).toMatchObject({ bad: 5, continuedAt: expect.any(Number) });
    const report = (await read("bad.jsonl")).trimEnd().split("\n");
    expect(report.map((line) => JSON.parse(line))).toEqual([
      { line: 5, column: "cents", reason: expect.stringContaining("is not an integer"), text: "000003,x" },
      {
        line: 6,
        column: null,
        reason: expect.stringContaining("a quote is in the middle"),
        text: '0000"04,4',
      },
      ...[602, 603, 1_152].map((line) => expect.objectContaining({ line })),
    ]);
    expect(await writes()).toHaveLength(1_195);
  });

  it("keeps what an interrupted run has reported, also if another run between writes no report", async () => {
    await write("orders.csv", many(1_700, [3, 600, 1_300]));
    const run = (...more: string[]) => cli.run(["import", "data", "orders.csv", ...csv, ...more]);
    expect(await run("--max-bad", "1", "--bad", "bad.jsonl")).toMatchObject({ code: 1 });
    expect(await run("--max-bad", "2")).toMatchObject({ code: 1 });
    expect(await run("--max-bad", "3", "--bad", "bad.jsonl")).toMatchObject({ code: 0 });
    const report = (await read("bad.jsonl")).trimEnd().split("\n");
    expect(report.map((line) => JSON.parse(line).line)).toEqual([5, 1_302]);
  });

  it("keeps the report of an interrupted run from a dry run", async () => {
    await write("orders.csv", many(1_200, [3, 1_150]));
    const run = (...more: string[]) =>
      cli.run(["import", "data", "orders.csv", ...csv, "--bad", "bad.jsonl", ...more]);
    expect(await run("--max-bad", "1")).toMatchObject({ code: 1 });
    const report = await read("bad.jsonl");
    expect(await run("--dry-run")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("bad.jsonl is the report of an interrupted import"),
    });
    expect(await read("bad.jsonl")).toBe(report);
    expect(await run("--max-bad", "2")).toMatchObject({ code: 0 });
    expect(await run("--dry-run")).toMatchObject({ code: 1, stderr: "" });
  });

  it("keeps nothing of another report that it is told to continue with", async () => {
    await write("orders.csv", many(1_200, [3, 1_150]));
    const run = (...more: string[]) => cli.run(["import", "data", "orders.csv", ...csv, ...more]);
    expect(await run("--max-bad", "1", "--bad", "one.jsonl")).toMatchObject({ code: 1 });
    await write("other.jsonl", `{"line":1,"text":"${"of an older import ".repeat(50)}"}\n`);
    expect(await run("--max-bad", "2", "--bad", "other.jsonl")).toMatchObject({ code: 0 });
    expect((await read("other.jsonl")).split("\n").map((line) => line && JSON.parse(line).line)).toEqual([
      1_152,
      "",
    ]);
  });

  it("replaces an earlier report, and no other file, with the rejected lines", async () => {
    const files = {
      "orders.csv": many(3, [1]),
      "orders.jsonl": manyObjects(3, [1]),
      "notes.txt": "precious\n",
    };
    for (const [name, contents] of Object.entries(files)) {
      await write("orders.csv", files["orders.csv"]);
      await write(name, contents);
      for (const more of [["--max-bad", "1"], ["--dry-run"]]) {
        const refused = await cli.run(["import", "data", "orders.csv", ...csv, "--bad", name, ...more]);
        expect(refused).toMatchObject({
          code: 2,
          stderr: expect.stringContaining("is no report of rejected"),
        });
        expect(await read(name)).toBe(contents);
      }
    }
    for (const wrong of [[0, 1, 2], [2]]) {
      await write("orders.csv", many(3, wrong));
      const options = [...csv, "--bad", "bad.jsonl", "--max-bad", "3"];
      expect(await cli.run(["import", "data", "orders.csv", ...options])).toMatchObject({ code: 0 });
      expect((await read("bad.jsonl")).trimEnd().split("\n")).toHaveLength(wrong.length);
    }
    // As if the first report had been cut by a crash.
    await write("bad.jsonl", '{"li');
    const again = ["import", "data", "orders.csv", ...csv, "--bad", "bad.jsonl", "--max-bad", "3"];
    expect(await cli.run(again)).toMatchObject({ code: 0 });
  });

  it("shows rejected lines as notes without a report, and only checks with --dry-run", async () => {
    await write("orders.csv", `${many(3, [1])}a,b,c\n,5\nd\n`);
    const { code, lines, stderr } = await cli.run(["import", "data", "orders.csv", ...csv, "--dry-run"]);
    expect(code).toBe(1);
    expect(stderr).toBe(
      'note: line 3, column "cents": orders.cents does not take "x": "x" is not an integer from -(2^53 - 1) to 2^53 - 1\n' +
        "note: line 5: it has 3 fields, but the header has 2\n" +
        'note: line 6, column "id": the key has no value\n' +
        "note: line 7: it has 1 field, but the header has 2\n",
    );
    expect(lines).toEqual([
      "2 rows with 2 cells for table orders, 4 lines rejected",
      "the file was only checked; nothing was imported",
    ]);
    expect(await writes()).toEqual([]);
  });

  it("reads the whole file with --dry-run, and says how many of its bad lines it does not list", async () => {
    await write("orders.jsonl", manyObjects(1_200, [...Array(23).keys()]));
    const checked = await cli.run([
      "import",
      "data",
      "orders.jsonl",
      ...jsonl,
      "--max-bad",
      "1",
      "--dry-run",
    ]);
    expect(checked).toMatchObject({
      code: 1,
      lines: [
        "1177 rows with 1177 cells for table orders, 23 lines rejected",
        "the file was only checked; nothing was imported",
      ],
    });
    const notes = checked.stderr.trimEnd().split("\n");
    expect(notes).toHaveLength(21);
    expect(notes.at(-1)).toBe("note: 3 more lines rejected; --bad FILE keeps all of them");
    const kept = ["--dry-run", "--bad", "bad.jsonl"];
    expect(await cli.run(["import", "data", "orders.jsonl", ...jsonl, ...kept])).toMatchObject({
      code: 1,
      stderr: "",
    });
    expect((await read("bad.jsonl")).trimEnd().split("\n")).toHaveLength(23);
    await write("orders.jsonl", manyObjects(3));
    expect(await cli.run(["import", "data", "orders.jsonl", ...jsonl, "--dry-run"])).toMatchObject({
      code: 0,
    });
  });

  it("is seen by observers, and asks for the module where only that can write", async () => {
    const sum = observer("sum", orders.cents, () => undefined);
    await (await openAlone(join(cli.folder, "data"), { tables: [orders], observers: [sum] })).close();
    await write("orders.csv", many(3));
    await cli.run(["import", "data", "orders.csv", ...csv]);
    expect((await cli.run(["pending", "data", "--json"])).documents).toHaveLength(3);
    await write("app.ts", ledgerModule(library));
    await write("ledger.csv", "id,total\nall,MTIz\nbad,!\n");
    const ledger = ["--format", "csv", "--table", "ledger", "--key", "id"];
    const { code } = await cli.run(["import", "data", "ledger.csv", ...ledger]);
    expect(code).toBe(2);
    const toNowhere = [...ledger, "--map", "total=totl", "--app", "app.ts"];
    expect((await cli.run(["import", "new", "ledger.csv", ...toNowhere])).code).toBe(2);
    expect(existsSync(join(cli.folder, "new"))).toBe(false);
    const withModule = await cli.run([
      "import",
      "data",
      "ledger.csv",
      ...ledger,
      "--app",
      "app.ts",
      "--max-bad",
      "1",
    ]);
    expect(withModule.stderr).toContain('line 3, column "total"');
    expect(withModule.code).toBe(0);
    expect((await cli.run(["get", "data", "ledger.total", "all", "--app", "app.ts"])).lines).toEqual(["123"]);
  });

  it("says that a gzip file is cut", async () => {
    await write("orders.csv.gz", gzipSync(many(20_000)).subarray(0, 20_000));
    const { code, stderr } = await cli.run(["import", "data", "orders.csv.gz", ...csv]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/orders\.csv\.gz cannot be decompressed .* damaged or cut/);
  });
});

describe("import --format jsonl", () => {
  it("writes typed values, objects into families, and null only into JSON", async () => {
    const first = {
      id: "o1",
      customer: "Ann",
      cents: 5,
      weight: "Infinity",
      paid: false,
      at: "2026-01-02T03:04:05Z",
    };
    const second = {
      id: "o2",
      customer: null,
      lines: null,
      image: "AP8=",
      tags: { a: "x", "b:c": "y", d: null },
    };
    await write("orders.jsonl", `\ufeff${JSON.stringify(first)}\r\n\n${JSON.stringify(second)}`);
    const { documents } = await cli.run(["import", "data", "orders.jsonl", ...jsonl, "--json"]);
    expect(documents[0]).toMatchObject({ rows: 2, cells: 9 });
    expect(await row("o1")).toEqual({
      customer: "Ann",
      cents: 5,
      weight: Number.POSITIVE_INFINITY,
      paid: false,
      at: new Date("2026-01-02T03:04:05Z"),
      tags: new Map(),
    });
    expect(await row("o2")).toEqual({
      lines: null,
      image: new Uint8Array([0, 255]),
      tags: new Map([
        ["a", "x"],
        ["b:c", "y"],
      ]),
    });
  });

  it("names the file and the line of a record that is too long", async () => {
    await write("long.jsonl", `{"id":"a","cents":1}\n${"x".repeat(maxRecordBytes)}\n`);
    const { code, stderr } = await cli.run(["import", "data", "long.jsonl", ...jsonl]);
    expect(code).toBe(1);
    expect(stderr).toContain("long.jsonl: the record that begins on line 2 has more than");
  });

  it("names what is wrong in a line", async () => {
    const wrong = [
      "[1]",
      "{",
      '{"cents":1}',
      '{"id":5,"cents":1}',
      '{"id":"a","cents":"5"}',
      '{"id":"a","cents":9007199254740993}',
      '{"id":"a","colour":1}',
      '{"id":"a","tags":"x"}',
      '{"id":"a","tags":{"x":"1"},"tags:x":"2"}',
    ];
    await write("orders.jsonl", `${wrong.join("\n")}\n`);
    const { code } = await cli.run([
      "import",
      "data",
      "orders.jsonl",
      ...jsonl,
      "--max-bad",
      "9",
      "--bad",
      "bad",
    ]);
    expect(code).toBe(0);
    const reasons = (await read("bad"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).reason as string);
    expect(reasons).toEqual([
      "it is not a JSON object with the columns' names",
      expect.stringMatching(/^it is not JSON/),
      "the key has no value",
      "the key must be a string, not 5",
      expect.stringMatching(/^orders\.cents, row "a": expected a safe integer.*, not "5"$/),
      expect.stringMatching(/^orders\.cents, row "a": expected .*, not 9007199254740992$/),
      expect.stringMatching(/^table orders has no column "colour"/),
      expect.stringMatching(/^orders\.tags is a family/),
      'it has two values for orders.tags["x"]',
    ]);
    await write("empty.jsonl", "");
    expect(await cli.run(["import", "data", "empty.jsonl", ...jsonl])).toMatchObject({ code: 0 });
  });
});

it("writes at most the rows of --rate in a second", async () => {
  await write("orders.csv", many(20));
  const begunAt = performance.now();
  expect((await cli.run(["import", "data", "orders.csv", ...csv, "--rate", "20/s"])).code).toBe(0);
  // Four batches of five rows, with three waits between them.
  expect(performance.now() - begunAt).toBeGreaterThan(740);
});

describe("an import of rows that is interrupted", () => {
  it("ends cleanly after a signal, and the same command continues", async () => {
    await write("orders.csv", many(3_000));
    const stderr = new Printed(100);
    const command = cli.start(["import", "data", "orders.csv", ...csv, "--rate", "400/s"], { stderr });
    await eventually(() => expect(stderr.text).toContain("rows written"));
    command.signal("SIGINT");
    expect((await command.outcome).code).toBe(130);
    const { documents } = await cli.run(["import", "data", "orders.csv", ...csv, "--json"]);
    expect(documents[0]!.continuedAt).toBeGreaterThan(1);
    const written = await writes();
    expect(written).toHaveLength(3_000);
    expect(written.every(([, count]) => count === 1)).toBe(true);
  });

  it.each([
    ["csv", csv, many, [42, 2_002]],
    ["jsonl", jsonl, manyObjects, [41, 2_001]],
  ] as const)(
    "was killed, and the same command writes each remaining row once: %s",
    async (format, flags, lines, badLines) => {
      await write(`orders.${format}`, lines(3_000, [40, 2_000]));
      const file = join(cli.folder, `orders.${format}`);
      const options = [...flags, "--max-bad", "2", "--bad", join(cli.folder, "bad.jsonl")];
      const args = ["import", join(cli.folder, "data"), file, ...options];
      const killed = new ProgramProcess("src/cli/main.ts", [...args, "--rate", "1000/s"]);
      await eventually(async () => {
        expect(killed.hasEnded, killed.errors).toBe(false);
        const { lines } = await cli.run([
          "scan",
          "data",
          "orders.cents",
          "--after",
          "000500",
          "--limit",
          "1",
        ]);
        expect(lines).toHaveLength(1);
      });
      await killed.kill();
      const before = (await writes()).length;
      expect(before).toBeLessThan(2_998);
      const { documents } = await cli.run([...args, "--json"]);
      expect(documents[0]).toMatchObject({ rows: 2_998 - before, bad: 2 });
      const written = await writes();
      expect(written).toHaveLength(2_998);
      expect(written.every(([, count]) => count === 1)).toBe(true);
      const bad = (await read("bad.jsonl")).trimEnd().split("\n");
      expect(bad.map((line) => JSON.parse(line).line)).toEqual(badLines);
    },
  );
});
