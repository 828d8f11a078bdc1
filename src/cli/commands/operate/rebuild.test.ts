import { join } from "node:path";
import { type Database, open, table, text } from "percolatordb";
import { eventualIndex, exactIndex, uniqueConstraint } from "percolatordb/recipes";
import { beforeEach, describe, expect, it } from "vitest";
import { builtLibrary } from "../../../../test/support/built/library.js";
import { CommandLine } from "../../../../test/support/command-line.js";

const library = builtLibrary();

/** The definitions of today. */
const app = `
import { table, text } from ${JSON.stringify(library.index)};
import { eventualIndex, exactIndex, uniqueConstraint } from ${JSON.stringify(library.recipes)};
const people = table("people", { email: text(), city: text(), name: text() });
const lower = (value) => [value.toLowerCase()];
export default {
  tables: [people],
  lookups: [
    uniqueConstraint("emails", people.email, { by: (email) => email.toLowerCase() }),
    exactIndex("by_city", people.city, { by: text(), of: lower }),
    eventualIndex("by_name", people.name, { by: text(), of: lower }),
  ],
};
`;

const people = table("people", { email: text(), city: text(), name: text() });
/** The definitions with which the rows are written. */
const before = {
  emails: uniqueConstraint("emails", people.email, { by: (email) => email }),
  byCity: exactIndex("by_city", people.city, { by: text(), of: (city) => [city] }),
};
const byName = eventualIndex("by_name", people.name, { by: text(), of: (name) => [name] });
/** The tables of a program that keeps all of them in this version. */
const tablesOf = (version: number) => [
  uniqueConstraint("emails", people.email, { by: (email) => email, version }).table,
  ...[exactIndex, eventualIndex].map(
    (index, at) =>
      index(["by_city", "by_name"][at]!, [people.city, people.name][at]!, {
        by: text(),
        of: (value) => [value],
        version,
      }).table,
  ),
];
const tables = [people, before.emails.table, before.byCity.table, byName.table];

let cli: CommandLine;

const withData = async <T>(use: (db: Database) => Promise<T>): Promise<T> => {
  await using db = await open(join(cli.folder, "data"), { tables, collectEveryMs: 0 });
  return await use(db);
};

async function entries(): Promise<Record<string, readonly unknown[]>> {
  return await withData(async (db) => {
    await using snapshot = await db.snapshot();
    const found: Record<string, unknown[]> = {};
    for (const each of tables.slice(1)) {
      const rows: unknown[] = [];
      for await (const { row } of snapshot.scan(each)) rows.push(row);
      found[each === byName.table ? "by_name" : each === before.byCity.table ? "by_city" : "emails"] = rows;
    }
    return found;
  });
}

beforeEach(async () => {
  cli = await CommandLine.create();
  await cli.write("app.ts", app);
  await withData((db) =>
    db.transact(async (tx) => {
      for (const row of ["ann", "bob"]) {
        await before.emails.set(tx, row, `${row === "ann" ? "A" : "B"}@x.org`);
        await before.byCity.set(tx, row, "Oslo");
        tx.set(people.name, row, row.toUpperCase());
      }
    }),
  );
});

describe("schema", () => {
  const differences = async (module = "app.ts") =>
    (await cli.run(["schema", "data", module])).lines.filter((line) => /emails|by_city|by_name/.test(line));
  const raised = app.replaceAll(/(toLowerCase\(\)|of: lower) \}/g, "$1, version: 2 }");

  it("says that a raised version needs a rebuild, until there was one", async () => {
    await cli.write("app.ts", raised);
    const older = (name: string) =>
      `differs: ${name} [rebuild] The program keeps it in version 2, after version 1: open records that. Rebuild it when no program with an older version runs.`;
    const before = await cli.run(["schema", "data", "app.ts"]);
    expect(before.code).toBe(1);
    expect(before.lines).toEqual(expect.arrayContaining(["emails", "by_city", "by_name"].map(older)));
    await (await open(join(cli.folder, "data"), { tables: tablesOf(2) })).close();
    expect((await cli.run(["rebuild", "data", "app.ts", "by_city"])).code).toBe(0);
    const due = (name: string) => `rebuild due of ${name}: entries of version 1, kept in version 2`;
    expect((await cli.run(["schema", "data"])).lines.filter((line) => line.startsWith("rebuild"))).toEqual(
      ["by_name", "emails"].map(due),
    );
    expect((await differences()).filter((line) => line.includes("[rebuild]"))).toEqual(
      ["emails", "by_name"].map(
        (name) =>
          `differs: ${name} [rebuild] It has entries of version 1, and programs keep it in version 2. Rebuild it when no program with an older version runs.`,
      ),
    );
    const [document] = (await cli.run(["schema", "data", "--json"])).documents;
    expect(document).toMatchObject({
      rebuildsDue: [
        { table: "by_name", version: 2, built: 1 },
        { table: "emails", version: 2, built: 1 },
      ],
    });
    const dueInCopy = async (copy: string) => {
      expect((await cli.run(["export", "data", `${copy}.jsonl`])).code).toBe(0);
      expect((await cli.run(["import", copy, `${copy}.jsonl`])).code).toBe(0);
      return (await cli.run(["schema", copy])).lines.filter((line) => line.startsWith("rebuild"));
    };
    expect(await dueInCopy("before")).toEqual(["by_name", "emails"].map(due));
    expect((await cli.run(["rebuild", "data", "app.ts"])).code).toBe(0);
    expect((await cli.run(["schema", "data", "app.ts"])).stdout).not.toMatch(/rebuild/);
    expect(await dueInCopy("after")).toEqual([]);
    await cli.write("old.ts", app);
    expect(await differences("old.ts")).toContain(
      "differs: emails [program] Programs keep it in version 2, and this one in version 1: what it writes must be rebuilt later.",
    );
  });

  it("says nothing of a version with which a database begins", async () => {
    await cli.write("app.ts", raised);
    await (await open(join(cli.folder, "new"), { tables: tablesOf(2) })).close();
    const { lines } = await cli.run(["schema", "new", "app.ts"]);
    expect(lines.filter((line) => /rebuild/.test(line))).toEqual([]);
    expect(lines).toContain("table emails: key text, written with people.email, version 2");
  });
});

describe("rebuild", () => {
  it("makes the entries those of the current definitions", async () => {
    const { code, stdout, stderr } = await cli.run(["rebuild", "data", "app.ts"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.replace(/in .*/, "in TIME")).toBe(
      "emails: 2 added, 2 removed\nby_city: 2 added, 2 removed\nby_name: 2 added, 0 removed\ndone in TIME\n",
    );
    expect(await entries()).toEqual({
      emails: ["a@x.org", "b@x.org"],
      by_city: [
        ["oslo", "ann"],
        ["oslo", "bob"],
      ],
      by_name: [
        ["ann", "ann"],
        ["bob", "bob"],
      ],
    });
    const again = await cli.run(["rebuild", "data", "app.ts", "--json"]);
    expect(again.documents[0]).toMatchObject({
      rebuilt: [
        { name: "emails", added: 0, removed: 0, duplicates: 0, continued: false },
        { name: "by_city", added: 0, removed: 0 },
        { name: "by_name", added: 0, removed: 0 },
      ],
    });
  });

  it("rebuilds only those that are named", async () => {
    const { code, lines } = await cli.run(["rebuild", "data", "app.ts", "by_city"]);
    expect([code, lines[0]]).toEqual([0, "by_city: 2 added, 2 removed"]);
    expect((await entries()).emails).toEqual(["A@x.org", "B@x.org"]);
  });

  it("exits with 1 and lists the rows whose value another row owns", async () => {
    await withData((db) => db.transact((tx) => before.emails.set(tx, "eve", "a@X.org")));
    const { code, lines } = await cli.run(["rebuild", "data", "app.ts", "emails"]);
    expect([code, ...lines.slice(0, 2)]).toEqual([
      1,
      "emails: 2 added, 3 removed, 1 row with the value of another",
      '  eve has "a@x.org" of ann',
    ]);
  });

  it("continues an interrupted rebuild of the same name", async () => {
    const emails = uniqueConstraint("emails", people.email, { by: (email) => email.toLowerCase() });
    await withData(async (db) => {
      await db.transact((tx) => {
        for (let row = 0; row < 300; row++) tx.set(people.email, `row ${row}`, `Row${row}@x.org`);
      });
      const stop = new AbortController();
      const rebuilding = emails.rebuild(db, {
        resume: "second",
        signal: stop.signal,
        onProgress: () => stop.abort(),
      });
      await expect(rebuilding).rejects.toThrow();
    });
    const command = ["rebuild", "data", "app.ts", "emails", "--json"];
    const { documents } = await cli.run([...command, "--resume", "second"]);
    expect(documents[0]).toMatchObject({ rebuilt: [{ added: 302, removed: 2, continued: true }] });
    const after = await cli.run([...command, "--resume", "second"]);
    expect(after.documents[0]).toMatchObject({ rebuilt: [{ added: 0, removed: 0, continued: false }] });
  });

  it("refuses a name that the module does not declare, and a module without lookups", async () => {
    const unknown = await cli.run(["rebuild", "data", "app.ts", "by_town"]);
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain(
      'The module declares no unique constraint or index "by_town"; it declares emails, by_city, by_name.',
    );
    await cli.write("plain.mjs", app.replace(/lookups: [\s\S]*\],/, ""));
    const none = await cli.run(["rebuild", "data", "plain.mjs"]);
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("list them in `lookups` of its default export");
  });
});
