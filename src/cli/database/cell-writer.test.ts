import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { builtLibrary } from "../../../test/support/built/library.js";
import { CommandLine } from "../../../test/support/command-line.js";
import { type Database, open } from "../../database/index.js";
import { columnWriter, exactIndex, uniqueConstraint } from "../../recipes/index.js";
import { bigint, codec, date, family, json, oneOf, table, text } from "../../schema/index.js";
import { blockCells } from "../dump/format.js";

const profile = z.object({ city: z.string() });
const users = table("users", {
  profile: json(profile),
  notes: family(json(profile)),
  plain: json(),
  state: oneOf("open", "closed"),
  secret: codec<string>({
    encode: (value) => Buffer.from(value),
    decode: (stored) => Buffer.from(stored).toString(),
  }),
  born: date(),
  wealth: bigint(),
  email: text(),
  name: text(),
  attributes: family(text()),
});
const emails = uniqueConstraint("emails", users.email, { by: (email) => email.toLowerCase() });
const byDomain = exactIndex("by_domain", users.email, {
  by: text(),
  of: (email) => [email.split("@")[1] ?? ""],
});
const nicks = uniqueConstraint("nicks", users.attributes.at("nick"), { by: (nick) => nick });
const tables = [users, emails.table, byDomain.table, nicks.table];

const library = builtLibrary();
const declarations = `
import { codec, bigint, date, family, json, oneOf, table, text } from ${JSON.stringify(library.index)};
import { exactIndex, uniqueConstraint } from ${JSON.stringify(library.recipes)};
const schema = { "~standard": { version: 1, vendor: "test", validate: (value: { city?: unknown }) =>
  typeof value?.city === "string" ? { value } : { issues: [{ message: "no city" }] } } } as never;
const users = table("users", {
  profile: json(schema), notes: family(json(schema)), plain: json(), state: oneOf("open", "closed"),
  secret: codec<string>({ encode: (value) => Buffer.from(value), decode: (stored) => Buffer.from(stored).toString() }),
  born: date(), wealth: bigint(), email: text(), name: text(), attributes: family(text()),
});
const emails = uniqueConstraint("emails", users.email, { by: (email: string) => email.toLowerCase() });
const byDomain = exactIndex("by_domain", users.email, { by: text(), of: (email: string) => [email.split("@")[1] ?? ""] });
const nicks = uniqueConstraint("nicks", users.attributes.at("nick"), { by: (nick: string) => nick });
`;

let cli: CommandLine;

async function withUsers<T>(use: (db: Database) => Promise<T>): Promise<T> {
  await using db = await open(join(cli.folder, "data"), { tables, collectEveryMs: 0 });
  return await use(db);
}

beforeEach(async () => {
  cli = await CommandLine.create();
  await cli.write(
    "app.ts",
    `${declarations}\nexport default { tables: [users, emails.table, byDomain.table, nicks.table] };`,
  );
  await cli.write("half.ts", `${declarations}\nexport default { tables: [users] };`);
  await cli.write(
    "loose.ts",
    `${declarations}\nexport default { tables: [table("users", { profile: json() })] };`,
  );
  await withUsers(async (db) => {
    await db.transact(async (tx) => {
      tx.set(users.profile, "ann", { city: "Bergen" });
      tx.set(users.name, "ann", "Ann");
      await columnWriter(emails, byDomain).set(tx, "ann", "ann@example.org");
      await nicks.set(tx, "ann", "annie");
    });
  });
});

/** Returns all cells in the form of an export. */
async function cells(location = "data"): Promise<readonly string[]> {
  const { code, lines } = await cli.run(["export", location]);
  expect(code).toBe(0);
  return lines.filter((line) => line.startsWith('{"table":'));
}

/**
 * Checks that the program can read every value, and that constraints and indexes agree with their
 * columns.
 */
async function expectSound(): Promise<void> {
  await withUsers(async (db) => {
    await using snapshot = await db.snapshot();
    const owners = new Map<string, string>();
    for await (const { row, value } of snapshot.scan(users)) {
      if (value.email === undefined) continue;
      owners.set(row, value.email);
      expect(await emails.find(snapshot, value.email)).toBe(row);
    }
    const indexed = [];
    for await (const { row } of byDomain.range(snapshot)) indexed.push(row);
    expect(indexed.sort()).toEqual([...owners.keys()].sort());
  });
}

describe("a write that needs the module", () => {
  it.each([
    ["users.profile", '{"town":"Oslo"}', "users.profile was not written: its values are checked by a schema"],
    ["users.profile", '{"city":"Oslo"}', "users.profile was not written: its values are checked by a schema"],
    ["users.notes:a", "{}", 'users.notes["a"] was not written: its values are checked by a schema'],
    ["users.state", "ajar", "users.state was not written: its values have choices"],
    ["users.secret", "c2g=", "users.secret was not written: its values have a custom codec"],
    ["users.email", "x@example.org", "users.email was not written: table by_domain"],
    ["users.attributes:nick", "x", 'users.attributes["nick"] was not written: table nicks'],
    ["emails.owner", "bob", "emails.owner was not written: its rows are derived from column users.email"],
    ["nicks.owner", "bob", "its rows are derived from column users.attributes:nick"],
  ])("is refused: set %s to %s", async (target, value, message) => {
    const before = await cells();
    for (const row of ["ann", "new"]) {
      const { code, stdout, stderr } = await cli.run(["set", "data", target, row, value]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(message);
      expect(stderr).toMatch(/--app FILE, or --force .*\(SCHEMA\)\n$/);
    }
    expect(await cells()).toEqual(before);
  });

  it.each([
    ["users.email", "ann", "Column users.email was not written"],
    ["users", "ann", "users.email was not written"],
    ["emails.owner", "ann@example.org", "emails.owner was not written"],
    ["emails", "ann@example.org", "Table emails was not written"],
  ])("is refused: delete %s %s", async (target, row, message) => {
    const before = await cells();
    const { code, stderr } = await cli.run(["delete", "data", target, row]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(await cells()).toEqual(before);
  });

  it.each([
    ["set", "users.plain", "ann", '{"any":1}'],
    ["set", "users.name", "ann", "Anna"],
    ["set", "users.attributes:other", "ann", "x"],
    ["set", "users.born", "ann", "1990-01-02T00:00:00.000Z"],
    ["set", "users.wealth", "ann", "12345678901234567890"],
    ["delete", "users.profile", "ann"],
    ["delete", "users.state", "ann"],
  ])("is an ordinary write: %s %s", async (...args) => {
    const [command, ...rest] = args;
    expect(await cli.run([command!, "data", ...rest])).toMatchObject({ code: 0, stderr: "" });
    await expectSound();
  });

  it("is done with the module when rows are imported: a row that breaks a constraint is rejected", async () => {
    await cli.write("users.csv", "id,email,name\nbob,bob@example.org,Bob\ncid,ANN@example.org,Cid\n");
    const rows = ["--format", "csv", "--table", "users", "--key", "id", "--app", "app.ts"];
    const refused = await cli.run(["import", "data", "users.csv", ...rows]);
    expect(refused.stderr).toMatch(
      /users\.csv, line 3: Unique constraint "emails": .* is taken by row "ann".* from that row\. Nothing was imported\./,
    );
    expect(refused.code).toBe(1);
    await cli.write("states.csv", "id,state\nbob,boss\n");
    const state = await cli.run(["import", "data", "states.csv", ...rows]);
    expect(state.stderr).toContain(
      'line 2, column "state": users.state, row "bob": expected "open" or "closed", not "boss". Nothing',
    );
    const { code, documents } = await cli.run([
      "import",
      "data",
      "users.csv",
      ...rows,
      "--max-bad",
      "1",
      "--json",
    ]);
    expect(code).toBe(0);
    expect(documents[0]).toMatchObject({ rows: 1, bad: 1 });
    expect((await cli.run(["get", "data", "users.email", "bob"])).lines).toEqual(["bob@example.org"]);
    await expectSound();
  });

  it("is done with the module: by the schema, the constraint and the index", async () => {
    const app = ["--app", "app.ts"];
    const set = (target: string, row: string, value: string) =>
      cli.run(["set", "data", target, row, value, ...app]);
    expect(await set("users.profile", "bob", '{"city":"Oslo"}')).toMatchObject({ code: 0 });
    const refused = await set("users.profile", "bob", '{"town":"Oslo"}');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("no city") });
    expect(await set("users.email", "bob", "Bob@example.com")).toMatchObject({ code: 0 });
    const taken = await set("users.email", "bob", "ANN@example.org");
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("is taken by row") });
    await expectSound();
    expect(await cli.run(["delete", "data", "users", "ann", ...app])).toMatchObject({ code: 0 });
    await expectSound();
    expect(await set("users.email", "cid", "ann@example.org")).toMatchObject({ code: 0 });
    expect(await set("users.attributes:nick", "cid", "annie")).toMatchObject({ code: 0 });
    expect(await cli.run(["delete", "data", "users.email", "cid", ...app])).toMatchObject({ code: 0 });
    await expectSound();
    expect((await cli.run(["scan", "data", "emails"])).stdout).not.toContain("ann@");
  });

  it("is refused with a module that lacks the constraint or index, or declares no schema", async () => {
    const set = (app: string, target: string, value: string) =>
      cli.run(["set", "data", target, "ann", value, "--app", app]);
    const half = await set("half.ts", "users.email", "x@example.org");
    expect(half).toMatchObject({ code: 2, stderr: expect.stringContaining("a module with all its tables") });
    const loose = await set("loose.ts", "users.profile", '{"town":"Oslo"}');
    expect(loose).toMatchObject({ code: 2, stderr: expect.stringContaining("declares it without one") });
    await expectSound();
  });

  it("with --force writes the stored form of the value, and warns nobody else", async () => {
    const set = (target: string, value: string) => cli.run(["set", "data", target, "eve", value, "--force"]);
    for (const [target, value] of [
      ["users.profile", '{"town":"Oslo"}'],
      ["users.state", "ajar"],
      ["users.secret", "c2g="],
      ["users.email", "ann@example.org"],
    ] as const) {
      expect(await set(target, value)).toMatchObject({ code: 0, stderr: "" });
      expect((await cli.run(["get", "data", target, "eve"])).stdout).toBe(`${value}\n`);
    }
    expect(await set("users.profile", "{")).toMatchObject({ code: 2 });
    expect(await cli.run(["delete", "data", "users", "eve", "--force"])).toMatchObject({ code: 0 });
    expect(await cli.run(["delete", "data", "emails", "ann@example.org", "--force"])).toMatchObject({
      code: 0,
    });
  });
});

describe("an import that needs the module", () => {
  const loose = table("users", { profile: json(), name: text() });
  const app = ["--app", "app.ts"];

  /** Returns an export of a database whose column has no schema. */
  async function exportLoose(value: unknown): Promise<string> {
    await using db = await open(join(cli.folder, "loose"), { tables: [loose] });
    await db.transact((tx) => {
      tx.set(loose.name, "ann", "Ann");
      tx.set(loose.profile, "bob", value);
    });
    await cli.run(["export", "loose", "loose.jsonl", "--force"]);
    return "loose.jsonl";
  }

  /** Creates a database that has recorded the program's tables and has no cells. */
  async function emptyDatabase(): Promise<void> {
    await using db = await open(join(cli.folder, "empty"), { tables });
    expect((await db.tables()).size).toBe(4);
  }

  it("is refused for values that no schema has checked, and nothing is written", async () => {
    await emptyDatabase();
    const file = await exportLoose({ town: "Oslo" });
    const { stdout } = await cli.run(["export", "loose"]);
    for (const [args, options] of [
      [["import", "empty", file], {}],
      [["import", "empty", file, "--merge"], {}],
      [["import", "empty"], { stdin: stdout }],
    ] as const) {
      const { code, stderr } = await cli.run(args, options);
      expect(code).toBe(2);
      expect(stderr).toContain("Column users.profile was not imported: it has a schema");
      expect(await cells("empty")).toEqual([]);
    }
    const checked = await cli.run(["import", "empty", file, ...app]);
    expect(checked).toMatchObject({ code: 1, stderr: expect.stringContaining('users.profile, row "bob"') });
    expect(checked.stderr).toMatch(/line 4 in block 1: .*no city \(INVALID_VALUE\)\n$/);
    expect(await cells("empty")).toEqual([]);
    const streamed = await cli.run(["import", "empty", ...app], { stdin: stdout });
    expect(streamed).toMatchObject({ code: 1, stderr: expect.stringContaining("no city") });
    expect(await cells("empty")).toEqual([]);
    expect(await cli.run(["import", "empty", file, "--dry-run", ...app])).toMatchObject({ code: 1 });
    expect(await cli.run(["import", "empty", file, "--force"])).toMatchObject({ code: 0 });
    expect(await cells("empty")).toHaveLength(2);
  });

  it("is done with the module if its schema accepts the values", async () => {
    await emptyDatabase();
    const file = await exportLoose({ city: "Oslo" });
    expect(await cli.run(["import", "empty", file])).toMatchObject({ code: 2 });
    expect(await cli.run(["import", "empty", file, ...app])).toMatchObject({ code: 0 });
    expect(await cells("empty")).toHaveLength(2);
  });

  it("checks the whole file before it writes its first block", async () => {
    await emptyDatabase();
    await using db = await open(join(cli.folder, "loose"), { tables: [loose] });
    await db.transact((tx) => {
      for (let row = 0; row < blockCells; row++) tx.set(loose.profile, `a${row}`, { city: "Oslo" });
      tx.set(loose.profile, "b", { town: "Oslo" });
    });
    await cli.run(["export", "loose", "loose.jsonl"]);
    const refused = await cli.run(["import", "empty", "loose.jsonl", ...app]);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("in block 2: ") });
    expect(await cells("empty")).toEqual([]);
  });

  it("is refused for a column whose constraint only the database has recorded", async () => {
    await emptyDatabase();
    const unconstrained = table("users", { email: text() });
    await using db = await open(join(cli.folder, "loose"), { tables: [unconstrained] });
    await db.transact((tx) => tx.set(unconstrained.email, "bob", "bob@example.org"));
    await cli.run(["export", "loose", "loose.jsonl"]);
    const { code, stderr } = await cli.run(["import", "empty", "loose.jsonl"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("has table users without table by_domain"),
    });
    expect(await cells("empty")).toEqual([]);
  });

  it.each([
    ["users", "has table users without table by_domain"],
    ["emails", "has table emails without table users"],
  ])(
    "is refused for a column without its constraint, and for a constraint alone: %s",
    async (name, message) => {
      await cli.run(["export", "data", "all.jsonl"]);
      const { code, stderr } = await cli.run(["import", "copy", "all.jsonl", "--table", name]);
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining(message) });
      expect(existsSync(join(cli.folder, "copy"))).toBe(false);
      expect(await cli.run(["import", "copy", "all.jsonl", "--table", name, "--force"])).toMatchObject({
        code: 0,
      });
    },
  );

  it.each([
    ["the column", "users.email", "ann"],
    ["the constraint", "emails.owner", "bob@example.org"],
  ])("is refused for both if only %s has data", async (_, target, row) => {
    await cli.run(["export", "data", "all.jsonl"]);
    await emptyDatabase();
    await cli.run(["set", "empty", target, row, "bob@example.org", "--force"]);
    const before = await cells("empty");
    const { code, stderr } = await cli.run(["import", "empty", "all.jsonl", "--merge"]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("were not merged") });
    expect(await cells("empty")).toEqual(before);
  });

  it("is refused for both if both have data", async () => {
    await cli.run(["export", "data", "all.jsonl"]);
    const before = await cells();
    const { code, stderr } = await cli.run(["import", "data", "all.jsonl", "--merge"]);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("were not merged") });
    expect(await cells()).toEqual(before);
    expect(await cli.run(["import", "data", "all.jsonl", "--merge", "--force"])).toMatchObject({ code: 0 });
    await expectSound();
  });

  it("is not the restore of a whole export, which includes the recorded definitions", async () => {
    await withUsers(async (db) => {
      await db.transact((tx) => {
        tx.set(users.born, "ann", new Date(12_345));
        tx.set(users.wealth, "ann", -(2n ** 70n));
        tx.set(users.state, "ann", "open");
        tx.set(users.secret, "ann", "s");
      });
    });
    await cli.run(["export", "data", "all.jsonl"]);
    await emptyDatabase();
    for (const location of ["copy", "empty"]) {
      expect(await cli.run(["import", location, "all.jsonl"])).toMatchObject({ code: 0, stderr: "" });
      expect(await cells(location)).toEqual(await cells());
      const set = await cli.run(["set", location, "users.profile", "ann", "{}"]);
      expect(set).toMatchObject({ code: 2, stderr: expect.stringContaining("schema") });
      const taken = await cli.run(["set", location, "users.email", "bob", "x"]);
      expect(taken).toMatchObject({ code: 2, stderr: expect.stringContaining("written together") });
    }
    await using copy = await open(join(cli.folder, "copy"), { tables });
    await using snapshot = await copy.snapshot();
    expect(await snapshot.row(users, "ann")).toMatchObject({ born: new Date(12_345), wealth: -(2n ** 70n) });
  });
});
