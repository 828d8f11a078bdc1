import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import {
  documents,
  ledger,
  libraryCommandLine,
  visits,
  withLibrary,
} from "../../../../test/support/library.js";
import { open } from "../../../database/index.js";
import { observer } from "../../../observer/index.js";
import { BlockImporter } from "../../dump/import-blocks.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const rows = 9_000;

function fill(): Promise<void> {
  return withLibrary(cli, async (db) => {
    await db.transact((tx) => {
      for (let index = 0; index < rows; index++) tx.set(documents.title, `row ${index}`, `title ${index}`);
    });
  });
}

/** Returns the rows of an export, without its timestamp. */
async function rowsOf(location: string): Promise<readonly string[]> {
  const { code, lines } = await cli.run(["export", location]);
  expect(code).toBe(0);
  return lines.filter((line) => line.startsWith('{"table":'));
}

const path = (name: string) => join(cli.folder, name);

describe("import", () => {
  it.each(["all.jsonl", "all.jsonl.gz"])(
    "creates a database with the same contents, from %s",
    async (name) => {
      await cli.run(["export", "data", name]);
      const { code, documents: reports } = await cli.run(["import", "copy", name, "--json"]);
      expect(code).toBe(0);
      expect(reports[0]).toMatchObject({ file: name, cells: 12, continuedAt: null, dryRun: false });
      expect(await rowsOf("copy")).toEqual(await rowsOf("data"));
      await using copy = await open(path("copy"), { tables: [documents, visits, ledger], create: false });
      await using snapshot = await copy.snapshot();
      expect(await snapshot.get(ledger.total, "all")).toBe(12345678901234567890n);
      expect(await snapshot.get(documents.anchors.at("y"), "a")).toBe("second");
      expect(await snapshot.get(visits.seconds, ["shop", 1])).toBe(Number.POSITIVE_INFINITY);
      expect(await copy.check()).toEqual([]);
    },
  );

  it("reads what export prints, compressed or not", async () => {
    const { stdout } = await cli.run(["export", "data"]);
    expect(await cli.run(["import", "copy"], { stdin: stdout })).toMatchObject({ code: 0 });
    expect(await rowsOf("copy")).toEqual(await rowsOf("data"));
    await cli.run(["export", "data", "all.jsonl.gz"]);
    const stdin = await readFile(path("all.jsonl.gz"));
    expect(await cli.run(["import", "other"], { stdin })).toMatchObject({ code: 0 });
    expect(await rowsOf("other")).toEqual(await rowsOf("data"));
  });

  it("continues where it stopped", async () => {
    await fill();
    await cli.run(["export", "data", "all.jsonl"]);
    const whole = await readFile(path("all.jsonl"), "utf8");
    // If the stream ends too early, the import keeps the blocks that arrived.
    const cut = await cli.run(["import", "copy"], { stdin: whole.slice(0, whole.length >> 1) });
    expect(cut).toMatchObject({ code: 1, stderr: expect.stringContaining("was cut") });
    const { code, documents: reports } = await cli.run(["import", "copy", "all.jsonl", "--json"]);
    expect(code).toBe(0);
    const { continuedAt, cells } = reports[0] as { continuedAt: number; cells: number };
    expect(continuedAt).toBeGreaterThan(0);
    expect(cells).toBeLessThan(rows);
    expect(await rowsOf("copy")).toEqual(await rowsOf("data"));
    expect(await cli.run(["check", "copy"])).toMatchObject({ code: 0 });
    // The finished import removed its progress note. Another import therefore finds tables that
    // already have data, and is refused.
    expect(await cli.run(["import", "copy", "all.jsonl"])).toMatchObject({ code: 1 });
  });

  it("stops on a signal between two blocks, and continues after the last", async () => {
    await fill();
    await cli.run(["export", "data", "all.jsonl"]);
    const { write } = BlockImporter.prototype;
    using _ = vi.spyOn(BlockImporter.prototype, "write").mockImplementationOnce(async function (
      this: BlockImporter,
      block,
    ) {
      await write.call(this, block);
      command.signal("SIGINT");
    });
    const command = cli.start(["import", "copy", "all.jsonl"]);
    expect(await command.outcome).toMatchObject({ code: 130 });
    const again = await cli.run(["import", "copy", "all.jsonl", "--json"]);
    expect(again).toMatchObject({ code: 0, documents: [{ continuedAt: 1 }] });
    expect(await rowsOf("copy")).toEqual(await rowsOf("data"));
  });

  it("changes nothing if the file is cut or damaged, and names the place", async () => {
    await fill();
    await cli.run(["export", "data", "all.jsonl.gz"]);
    await cli.run(["export", "data", "all.jsonl"]);
    const gz = await readFile(path("all.jsonl.gz"));
    const text = await readFile(path("all.jsonl"));
    const attempt = async (name: string, bytes: Uint8Array) => {
      await writeFile(path(name), bytes);
      const { code, stderr } = await cli.run(["import", "copy", name, "--json"]);
      expect(code).toBe(1);
      const { error } = JSON.parse(stderr) as { error: { code: string; message: string } };
      expect(error.code).toBe("EXPORT_DAMAGED");
      expect(await cli.run(["status", "copy"])).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("There is no database"),
      });
      return error.message;
    };
    const flipped = (bytes: Uint8Array, at: number) => {
      const copy = Buffer.from(bytes);
      copy[at]! ^= 1;
      return copy;
    };
    for (const at of [300, text.length >> 2, text.length >> 1, text.length - 20]) {
      expect(await attempt("bad.jsonl", flipped(text, at))).toMatch(
        /bad\.jsonl is damaged in block \d+, which begins at line \d+: /,
      );
    }
    expect(await attempt("bad.jsonl", flipped(text, 20))).toContain("is not an export");
    for (const at of [gz.length >> 1, gz.length - 30]) await attempt("bad.jsonl.gz", flipped(gz, at));
    for (const length of [text.length - 1, text.length >> 1]) {
      expect(await attempt("cut.jsonl", text.subarray(0, length))).toContain("was cut");
    }
    await attempt("cut.jsonl.gz", gz.subarray(0, gz.length >> 1));
    await attempt("empty.jsonl", Buffer.alloc(0));
    await attempt("notes.txt", Buffer.from("mine\n"));
    // One block is missing, or one block appears twice.
    const blocks = text.toString().split(/(?<="sha256":"[0-9a-f]{64}"\}\n)/);
    await attempt("less.jsonl", Buffer.from([...blocks.slice(0, 2), ...blocks.slice(3)].join("")));
    await attempt("more.jsonl", Buffer.from([...blocks.slice(0, 2), ...blocks.slice(1)].join("")));
  });

  it("writes nothing after the damage in a stream", async () => {
    await fill();
    const { stdout } = await cli.run(["export", "data"]);
    const blocks = stdout.split(/(?<="sha256":"[0-9a-f]{64}"\}\n)/);
    const damaged = blocks
      .map((block, index) => (index === 2 ? block.replace("title", "titlx") : block))
      .join("");
    expect(await cli.run(["import", "copy"], { stdin: damaged })).toMatchObject({ code: 1 });
    const kept = await rowsOf("copy");
    expect(kept).toEqual(blocks[1]!.split("\n").filter((line) => line.startsWith('{"table":')));
  });

  it("refuses tables that already have data, unless it should merge", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        tx.set(documents.title, "a", "changed");
        tx.set(documents.title, "new", "kept");
      }),
    );
    const refused = await cli.run(["import", "data", "all.jsonl"]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("--merge") });
    expect((await cli.run(["get", "data", "documents.title", "a"])).stdout).toBe("changed\n");
    expect(await cli.run(["import", "data", "all.jsonl", "--merge"])).toMatchObject({ code: 0 });
    expect((await cli.run(["get", "data", "documents.title", "a"])).stdout).toBe("Alpha\n");
    expect((await cli.run(["get", "data", "documents.title", "new"])).stdout).toBe("kept\n");
  });

  it("imports only the named tables, and refuses conflicting ones", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    expect(await cli.run(["import", "copy", "all.jsonl", "--table", "visits"])).toMatchObject({ code: 0 });
    expect(await rowsOf("copy")).toEqual((await rowsOf("data")).filter((line) => line.includes('"visits"')));
    expect(await cli.run(["import", "copy", "all.jsonl", "--table", "nowhere"])).toMatchObject({ code: 2 });
    const text = await readFile(path("all.jsonl"), "utf8");
    expect(text).toContain('"codec":"int"');
    const { table, int } = await import("../../../schema/index.js");
    // The last of the export's tables contradicts, and none of those before it is recorded.
    await using other = await open(path("other"), { tables: [table("visits", { seconds: int() })] });
    await other.close();
    expect(await cli.run(["import", "other", "all.jsonl"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("(SCHEMA)"),
    });
    const { documents: schemas } = await cli.run(["schema", "other", "--json"]);
    expect(schemas[0]!.tables).toMatchObject([{ name: "visits" }]);
  });

  it("makes cells due for registered observers, and for no others", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    const lengths = observer("lengths", documents.title, (tx, { row, value }) =>
      tx.set(documents.size, row, value?.length ?? 0),
    );
    await using copy = await open(path("copy"), { observers: [lengths], collectEveryMs: 0 });
    expect(await cli.run(["import", "copy", "all.jsonl"])).toMatchObject({ code: 0 });
    expect((await cli.run(["pending", "copy", "--json"])).documents.map(({ row }) => row).sort()).toEqual([
      "a",
      "ab",
      "b",
    ]);
    await copy.drain();
    expect((await cli.run(["get", "copy", "documents.size", "b"])).stdout).toBe("4\n");
    await cli.run(["import", "later", "all.jsonl"]);
    await using later = await open(path("later"), { observers: [lengths], collectEveryMs: 0 });
    expect((await cli.run(["pending", "later", "--json"])).documents).toEqual([]);
    expect(await later.backfill(lengths)).toEqual({ marked: 3 });
  });

  it("only checks the file if asked to", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    const { code, documents: reports } = await cli.run([
      "import",
      "copy",
      "all.jsonl",
      "--dry-run",
      "--json",
    ]);
    expect({ code, cells: reports[0]!.cells, dryRun: reports[0]!.dryRun }).toEqual({
      code: 0,
      cells: 12,
      dryRun: true,
    });
    expect(await cli.run(["status", "copy"])).toMatchObject({ code: 1 });
    const one = ["import", "copy", "all.jsonl", "--dry-run", "--table", "visits", "--json"];
    expect((await cli.run(one)).documents[0]).toMatchObject({ tables: ["visits"], cells: 3 });
    const { size } = { size: (await readFile(path("all.jsonl"))).length };
    await truncate(path("all.jsonl"), size - 1);
    expect(await cli.run(["import", "copy", "all.jsonl", "--dry-run"])).toMatchObject({ code: 1 });
    expect(await cli.run(["import", "copy", "nowhere.jsonl"])).toMatchObject({ code: 2 });
  });

  it("changes nothing if a due change in the header does not fit its table", async () => {
    const { BlockBuilder } = await import("../../dump/block-builder.js");
    const builder = new BlockBuilder();
    const [header] = (await cli.run(["export", "data", "--table", "visits"])).documents;
    const due = [{ observer: "lengths", table: "visits", row: "home", column: "seconds" }];
    builder.add(JSON.stringify({ ...header, due }), 0);
    await writeFile(path("odd.jsonl"), Buffer.concat([builder.take(), builder.end()]));
    expect(await cli.run(["import", "copy", "odd.jsonl"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("(INVALID_KEY)"),
    });
    expect(await cli.run(["status", "copy"])).toMatchObject({ code: 1 });
  });

  it("names the line that cannot be imported", async () => {
    const { BlockBuilder } = await import("../../dump/block-builder.js");
    const builder = new BlockBuilder();
    const { lines } = await cli.run(["export", "data"]);
    const parts: Buffer[] = [];
    builder.add(lines[0]!, 0);
    parts.push(builder.take());
    builder.add(JSON.stringify({ table: "documents", row: "a", cells: [["size", "five"]] }), 1);
    parts.push(builder.take(), builder.end());
    await writeFile(path("odd.jsonl"), Buffer.concat(parts));
    const { code, stderr } = await cli.run(["import", "copy", "odd.jsonl"]);
    expect(code).toBe(1);
    expect(stderr).toContain("odd.jsonl cannot be imported because of line 3 in block 1: ");
  });
});
