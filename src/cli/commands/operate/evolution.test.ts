import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/support/command-line.js";
import { type Database, open } from "../../../database/index.js";
import { observer } from "../../../observer/index.js";
import { compressed, family, json, table, text } from "../../../schema/index.js";

let cli: CommandLine;

/** The test modules read their exports from this global variable. */
const shared = globalThis as { app?: unknown };
const split = (old: { name: string }) => {
  if (old.name === "") throw new Error("no name");
  return { first: old.name, last: "" };
};
const before = table("people", { who: json<{ name: string }>(), note: text() });
const versioned = { version: 2, upgrade: { 1: split } };
const after = table("people", {
  who: json<{ first: string; last: string }>(undefined, versioned),
  note: text(),
});

beforeEach(async () => {
  cli = await CommandLine.create();
  await cli.write("app.mjs", "export default globalThis.app;\n");
  await withData((db) =>
    db.transact((tx) => {
      tx.set(before.who, "a", { name: "Ada" });
      tx.set(before.who, "b", { name: "Bob" });
      tx.set(before.note, "a", "kept");
    }),
  );
  shared.app = { tables: [after] };
});
afterEach(() => {
  delete shared.app;
});

async function withData<T>(use: (db: Database) => Promise<T>, folder = "data"): Promise<T> {
  await using db = await open(join(cli.folder, folder), { collectEveryMs: 0 });
  return await use(db);
}

describe("migrate", () => {
  it("counts with --check, and rewrites without it", async () => {
    const checked = await cli.run(["migrate", "data", "app.mjs", "--check"]);
    expect(checked.code).toBe(1);
    expect(checked.lines[0]).toBe("people (who 2): 2 of 2 cells are of older versions, 0 failed");
    const done = await cli.run(["migrate", "data", "app.mjs", "people", "--rate", "1000", "--json"]);
    expect(done.code).toBe(0);
    expect(done.documents).toEqual([
      {
        check: false,
        tables: [
          {
            table: "people",
            columns: { who: 2 },
            scanned: 2,
            changed: 2,
            failed: 0,
            failures: [],
            continued: false,
          },
        ],
        durationMs: expect.any(Number),
      },
    ]);
    expect((await cli.run(["migrate", "data", "app.mjs", "--check"])).code).toBe(0);
    expect((await cli.run(["get", "data", "people.who", "a"])).stdout).toBe('{"first":"Ada","last":""}\n');
  });

  it("lists the cells whose upgrade failed, and rewrites the others", async () => {
    await withData((db) => db.transact((tx) => tx.set(before.who, "bad", { name: "" })));
    const { code, lines } = await cli.run(["migrate", "data", "app.mjs"]);
    expect(code).toBe(1);
    expect(lines.slice(0, 2)).toEqual([
      "people (who 2): 2 of 3 cells rewritten, 1 failed",
      "  people.who, row bad: the column's upgrade from version 1 to 2 failed: no name",
    ]);
  });

  it("refuses a table that the module does not declare, and a wrong rate", async () => {
    const wrong = await cli.run(["migrate", "data", "app.mjs", "peple"]);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('declares no table "peple"; it declares people');
    expect((await cli.run(["migrate", "data", "app.mjs", "--rate", "0"])).code).toBe(2);
  });
});

describe("schema", () => {
  it("prints what is recorded, and how a module differs", async () => {
    const recorded = await cli.run(["schema", "data"]);
    expect(recorded.code).toBe(0);
    expect(recorded.lines).toEqual(["table people: key text", "  who: json", "  note: text"]);
    const differs = await cli.run(["schema", "data", "app.mjs"]);
    expect(differs.code).toBe(1);
    expect(differs.lines.slice(3)).toEqual([
      expect.stringMatching(
        /^differs: people\.who \[migrate\] The program writes version 2, after version 1/,
      ),
    ]);
    await cli.run(["migrate", "data", "app.mjs"]);
    const same = await cli.run(["schema", "data", "app.mjs"]);
    expect([same.code, same.lines.at(-1)]).toEqual([0, "the module declares what is recorded"]);
    expect(same.lines[1]).toBe("  who: json, version 2");
    const [document] = (await cli.run(["schema", "data", "app.mjs", "--json"])).documents;
    expect(document).toMatchObject({ tables: [{ name: "people" }], differences: [] });
  });
});

describe("drop", () => {
  it("removes a column, and lets its name be released", async () => {
    const watch = observer("watch", before.note, () => undefined);
    await (await open(join(cli.folder, "data"), { observers: [watch] })).close();
    const refused = await cli.run(["drop", "data", "people.note"]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/observer "watch" watches it.*`percolator unregister` or `db\.unregister/);
    await withData((db) => db.unregister("watch"));
    const dropped = await cli.run(["drop", "data", "people.note", "--json"]);
    expect(dropped.documents).toEqual([
      { table: "people", column: "note", removed: 1, continued: false, durationMs: expect.any(Number) },
    ]);
    expect((await cli.run(["schema", "data"])).lines.at(-1)).toMatch(/^dropped people\.note at \d{4}-/);
    const differs = await cli.run(["schema", "data", "app.mjs"]);
    expect(differs.stdout).toContain("people.note [program] The column was dropped");
    expect((await cli.run(["drop", "data", "people.note", "--release"])).stdout).toBe(
      "people.note may be declared again\n",
    );
    await withData((db) => db.transact((tx) => tx.set(before.note, "a", "again")));
    expect((await cli.run(["drop", "data", "people"])).stdout).toMatch(
      /^people dropped: 3 cells removed in /,
    );
    expect((await cli.run(["scan", "data", "people"])).code).toBe(2);
  });
});

describe("drop of a name that the database does not have", () => {
  it.each([
    ["peple", 'no table "peple"; it has people, tagged. (SCHEMA)'],
    ["people.nme", 'no column "nme"; it has who, note'],
    ["people.who:a", "not a family"],
    ["tagged.tags:a", "is a cell"],
  ])("is a wrong command: %s", async (name, message) => {
    await withData((db) => db.recordTables([table("tagged", { tags: family(text()) })], []));
    for (const release of [[], ["--release"]]) {
      const { code, stderr } = await cli.run(["drop", "data", name, ...release]);
      expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
    }
  });
});

describe("commands without the module", () => {
  const packed = table("packed", { who: compressed(json<object>(undefined, versioned)) });

  it("show a versioned value as it is stored, and do not write it", async () => {
    await withData((db) => db.transact((tx) => tx.set(after.who, "n", { first: "Neo", last: "N" })));
    expect((await cli.run(["get", "data", "people.who", "n"])).stdout).toBe('{"first":"Neo","last":"N"}\n');
    expect((await cli.run(["get", "data", "people.who", "a"])).stdout).toBe('{"name":"Ada"}\n');
    const refused = await cli.run(["set", "data", "people.who", "n", "{}"]);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("its values have a version that only the program's module knows");
    const written = ["set", "data", "people.who", "n", '{"first":"M","last":""}'];
    expect((await cli.run([...written, "--force"])).code).toBe(0);
    expect((await cli.run([...written, "--app", "app.mjs"])).code).toBe(0);
    const values = await withData((db) => db.history(after.who, "n"));
    expect(values.map(({ value }) => value?.first)).toEqual(["M", "M", "Neo"]);
  });

  it("export and import values of every version", async () => {
    await withData((db) =>
      db.transact((tx) => {
        tx.set(after.who, "n", { first: "Neo", last: "N" });
        tx.set(packed.who, "p", { first: "P".repeat(1_000), last: "" });
      }),
    );
    expect((await cli.run(["export", "data", "all.jsonl"])).code).toBe(0);
    const lines = (await readFile(join(cli.folder, "all.jsonl"), "utf8")).split("\n");
    expect(JSON.parse(lines[0]!)).toMatchObject({ format: "percolatordb-export", version: 2 });
    expect(lines.map((line) => (line === "" ? undefined : JSON.parse(line)))).toContainEqual({
      table: "people",
      row: "n",
      cells: [{ column: "who", version: 2, value: { first: "Neo", last: "N" } }],
    });
    expect((await cli.run(["import", "copy", "all.jsonl"])).code).toBe(0);
    await withData(async (db) => {
      await using snapshot = await db.snapshot();
      expect(await snapshot.get(after.who, "n")).toEqual({ first: "Neo", last: "N" });
      expect(await snapshot.get(after.who, "a")).toEqual({ first: "Ada", last: "" });
      expect(await snapshot.get(packed.who, "p")).toEqual({ first: "P".repeat(1_000), last: "" });
      expect((await db.schema()).tables).toMatchObject([
        { name: "packed" },
        { columns: [{ version: 2 }, {}] },
      ]);
    }, "copy");
  });
});
