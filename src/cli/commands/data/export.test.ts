import { spawnSync } from "node:child_process";
import { readdir, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bytes, compressed, type Database, family, open, table, text } from "percolatordb";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import {
  documents,
  ledger,
  libraryCommandLine,
  visits,
  withLibrary,
} from "../../../../test/support/library.js";
import { systemEnvironment } from "../../../environment/index.js";
import { ExportFile } from "../../dump/export-file.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const textOf = async (name: string) => {
  const bytes = await readFile(join(cli.folder, name));
  return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
};
const linesOf = async (name: string) =>
  (await textOf(name))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** Fills the database with several blocks. One row is far wider than a page. */
function fill(): Promise<void> {
  return withLibrary(cli, async (db) => {
    await db.transact((tx) => {
      for (let index = 0; index < 3_000; index++) tx.set(documents.title, `row ${index}`, `title ${index}`);
    });
    await db.transact((tx) => {
      for (let index = 0; index < 3_000; index++)
        tx.set(documents.anchors.at(`q${index}`), "wide", `a${index}`);
    });
    await db.transact((tx) => {
      for (let index = 0; index < 12; index++)
        tx.set(documents.thumbnail, `big ${index}`, Buffer.alloc(300_000, index));
    });
  });
}

describe("export", () => {
  it("leaves out a column whose drop was interrupted, and can be imported", async () => {
    const db = await open(join(cli.folder, "data"));
    const stopped = new AbortController();
    const target = { table: "documents", column: "thumbnail" };
    const dropping = db.drop(target, { signal: stopped.signal, onProgress: () => stopped.abort() });
    await expect(dropping).rejects.toMatchObject({ code: "ABORTED" });
    await db.close();
    expect((await cli.run(["export", "data", "all.jsonl"])).code).toBe(0);
    expect(await textOf("all.jsonl")).not.toContain('"thumbnail"');
    expect(await cli.run(["import", "copy", "all.jsonl"])).toMatchObject({ code: 0 });
  });

  it("writes every cell as of one snapshot, with checksums", async () => {
    const { code, documents: reports } = await cli.run(["export", "data", "all.jsonl", "--json"]);
    expect(code).toBe(0);
    expect(reports[0]).toMatchObject({
      file: "all.jsonl",
      tables: ["documents", "ledger", "visits"],
      cells: 12,
      continued: false,
      bytes: (await stat(join(cli.folder, "all.jsonl"))).size,
    });
    const [header, first, ...rest] = await linesOf("all.jsonl");
    expect(header).toMatchObject({
      format: "percolatordb-export",
      version: 1,
      timestamp: reports[0]!.timestamp,
    });
    expect(first).toMatchObject({ block: 0, lines: 1, cells: 0 });
    expect(rest.slice(0, -2)).toEqual([
      {
        table: "documents",
        row: "a",
        cells: [
          ["anchors", "https://x.example/", "first"],
          ["anchors", "y", "second"],
          ["links", ["b", "c"]],
          ["size", 5],
          ["thumbnail", "AP8="],
          ["title", "Alpha"],
        ],
      },
      { table: "documents", row: "ab", cells: [["title", "Line one\nLine two"]] },
      { table: "documents", row: "b", cells: [["title", "Beta"]] },
      {
        table: "ledger",
        row: "all",
        cells: [["total", Buffer.from("12345678901234567890").toString("base64")]],
      },
      { table: "visits", row: '["home",1]', cells: [["seconds", 1.5]] },
      { table: "visits", row: '["home",2]', cells: [["seconds", 2.5]] },
      { table: "visits", row: '["shop",1]', cells: [["seconds", "Infinity"]] },
    ]);
    const [block, end] = rest.slice(-2);
    expect(block).toMatchObject({ block: 1, lines: 7, cells: 12 });
    expect(end).toEqual({ end: true, blocks: 2, cells: 12, sha256: block!.sha256 });
  });

  it("exports a snapshot of the past, and only the named tables", async () => {
    const { timestamp } = (await cli.run(["export", "data", "one.jsonl", "--table", "visits", "--json"]))
      .documents[0]!;
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        tx.set(visits.seconds, ["home", 1], 9);
        tx.set(ledger.total, "all", 1n);
      }),
    );
    const at = String(timestamp);
    await cli.run(["export", "data", "two.jsonl", "--table", "visits", "--at", at]);
    expect(await textOf("two.jsonl")).toBe(await textOf("one.jsonl"));
    const rows = (await linesOf("two.jsonl")).filter(({ table }) => table !== undefined);
    expect(new Set(rows.map(({ table }) => table))).toEqual(new Set(["visits"]));
  });

  it("exports the stored form of a value that its column cannot decode", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(visits.seconds, ["zero", 0], -0)));
    await cli.run(["export", "data", "all.jsonl"]);
    expect(await textOf("all.jsonl")).toContain('["seconds","-0"]');
  });

  it("writes to the standard output, compressed if requested", async () => {
    const { timestamp } = (await cli.run(["export", "data", "one.jsonl", "--json"])).documents[0]!;
    const plain = await cli.run(["export", "data", "--at", String(timestamp)]);
    expect(plain).toMatchObject({ code: 0, stderr: "" });
    expect(plain.documents.at(-1)).toMatchObject({ end: true });
    await cli.run(["export", "data", "all.jsonl.gz"]);
    const lines = await linesOf("all.jsonl.gz");
    expect(lines.at(-1)).toMatchObject({ end: true, cells: 12 });
  });

  it.each(["all.jsonl", "all.jsonl.gz"])(
    "continues %s where it was cut, at the same snapshot",
    async (name) => {
      await fill();
      expect(await cli.run(["export", "data", name])).toMatchObject({ code: 0 });
      const path = join(cli.folder, name);
      const whole = await textOf(name);
      const { size } = await stat(path);
      await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "row 1", "changed")));
      for (const share of [0.05, 0.3, 0.5, 0.8, 0.999]) {
        await truncate(path, Math.floor(size * share));
        const { code, documents: reports } = await cli.run(["export", "data", name, "--json"]);
        expect({ code, continued: reports[0]!.continued }).toEqual({ code: 0, continued: true });
        expect((await textOf(name)) === whole).toBe(true);
      }
    },
  );

  it("continues after the last sound block", async () => {
    await fill();
    await cli.run(["export", "data", "all.jsonl"]);
    const path = join(cli.folder, "all.jsonl");
    const whole = await readFile(path);
    const damaged = Buffer.from(whole);
    damaged[damaged.length >> 1]! ^= 1;
    await writeFile(path, damaged);
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({ code: 0 });
    expect((await readFile(path)).equals(whole)).toBe(true);
  });

  it("refuses an existing file that is not the beginning of the export", async () => {
    await cli.write("notes.txt", "mine\n");
    const foreign = await cli.run(["export", "data", "notes.txt"]);
    expect(foreign).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not the beginning of an export"),
    });
    expect(await textOf("notes.txt")).toBe("mine\n");
    expect(await cli.run(["export", "data", devNull])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "is not a file. Without a file, the export goes to the standard output.",
      ),
    });
    await cli.run(["export", "data", "all.jsonl"]);
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is already a complete export"),
    });
    const text = await textOf("all.jsonl");
    await truncate(join(cli.folder, "all.jsonl"), text.length - 2);
    expect(await cli.run(["export", "data", "all.jsonl", "--table", "visits"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("its tables are documents, ledger, visits"),
    });
    expect(await cli.run(["export", "data", "all.jsonl", "--at", "1"])).toMatchObject({ code: 2 });
    expect(await cli.run(["export", "data", "all.jsonl", "--force"])).toMatchObject({ code: 0 });
    expect(await cli.run(["export", "data", "nowhere/all.jsonl"])).toMatchObject({ code: 2 });
    expect(await cli.run(["export", "data", "x.jsonl", "--table", "nowhere"])).toMatchObject({ code: 2 });
    expect(await cli.run(["export", "data", "x.jsonl", "--at", "2200-01-01"])).toMatchObject({ code: 2 });
    await cli.write("empty.jsonl", "");
    expect(await cli.run(["export", "data", "empty.jsonl", "--at", "2200-01-01"])).toMatchObject({ code: 2 });
    expect((await readdir(cli.folder)).sort()).toEqual(["all.jsonl", "data", "empty.jsonl", "notes.txt"]);
  });

  it("does not continue an export of one table as one of all, unless the others were empty", async () => {
    const cut = async (...args: string[]) => {
      await cli.run(["export", "data", "all.jsonl", "--force", ...args]);
      await truncate(join(cli.folder, "all.jsonl"), (await textOf("all.jsonl")).length - 2);
    };
    await cut("--table", "visits");
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("its tables are visits"),
    });
    await cut();
    const later = table("later", { title: text() });
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(later.title, "a", "x")), { tables: [later] });
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({ code: 0 });
    expect(await textOf("all.jsonl")).not.toContain('"later"');
  });

  it("ends blocks between tables too, since an import writes a block in one transaction", async () => {
    const tables = ["t1", "t2", "t3"].map((name) => table(name, { value: text() }));
    const fillEach = (db: Database) =>
      db.transact((tx) => {
        for (const { value } of tables) tx.set(value, "only", "x".repeat(700_000));
      });
    await withLibrary(cli, fillEach, { tables });
    await cli.run(["export", "data", "all.jsonl", ...tables.flatMap((_, n) => ["--table", `t${n + 1}`])]);
    const blocks = (await linesOf("all.jsonl")).filter((line) => "block" in line);
    expect(blocks.map(({ lines }) => lines)).toEqual([1, 2, 1]);
  });

  it("ends a line by the length of what it writes, also if the store has the value compressed", async () => {
    const blobs = table("blobs", { parts: family(compressed(bytes())) });
    const db = await open(join(cli.folder, "blobs"), { tables: [blobs], collectEveryMs: 0 });
    await db.transact((tx) => {
      for (const part of ["a", "b", "c"]) tx.set(blobs.parts.at(part), "row", Buffer.alloc(200_000));
    });
    await db.close();
    expect((await cli.run(["export", "blobs", "all.jsonl"])).code).toBe(0);
    const rows = (await linesOf("all.jsonl")).filter(({ row }) => row !== undefined);
    expect(rows.map(({ cells }) => (cells as unknown[]).length)).toEqual([1, 1, 1]);
    expect(await cli.run(["import", "copy", "all.jsonl"])).toMatchObject({ code: 0 });
  });

  it("reports that its snapshot was collected", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    const path = join(cli.folder, "all.jsonl");
    await truncate(path, (await stat(path)).size - 2);
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "a", "later")));
    expect(await cli.run(["gc", "data", "--retention", "0"])).toMatchObject({ code: 0 });
    const { code, stderr } = await cli.run(["export", "data", "all.jsonl"]);
    expect(code).toBe(1);
    expect(stderr).toContain("Start again with --force");
    expect(await cli.run(["export", "data", "all.jsonl", "--force"])).toMatchObject({ code: 0 });
  });

  it("refuses a file that another export writes, unless that was killed", async () => {
    const { processName } = systemEnvironment;
    const claim = (name: string) => cli.write(`all.jsonl.writer-${encodeURIComponent(name)}@1`, "");
    const running = await claim(processName);
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`Process ${processName} is writing`),
    });
    await expect(stat(join(cli.folder, "all.jsonl"))).rejects.toThrow("ENOENT");
    await rm(running);
    const { pid } = spawnSync(process.execPath, ["--version"]);
    await claim(processName.replace(/\d+$/, String(pid)));
    expect(await cli.run(["export", "data", "all.jsonl"])).toMatchObject({ code: 0 });
    expect((await readdir(cli.folder)).sort()).toEqual(["all.jsonl", "data"]);
  });

  it("stops on a signal, and can be continued", async () => {
    await fill();
    const { write } = ExportFile.prototype;
    let writes = 0;
    using _ = vi.spyOn(ExportFile.prototype, "write").mockImplementation(async function (
      this: ExportFile,
      text,
    ) {
      await write.call(this, text);
      if (++writes === 2) command.signal("SIGINT");
    });
    const command = cli.start(["export", "data", "all.jsonl"]);
    expect(await command.outcome).toMatchObject({ code: 130 });
    expect((await readdir(cli.folder)).sort()).toEqual(["all.jsonl", "data"]);
    const again = await cli.run(["export", "data", "all.jsonl", "--json"]);
    expect(again).toMatchObject({ code: 0, documents: [{ continued: true }] });
    expect((await linesOf("all.jsonl")).at(-1)).toMatchObject({ end: true });
  });
});
