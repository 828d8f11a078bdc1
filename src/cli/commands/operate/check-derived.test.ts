import { join } from "node:path";
import { open, table, text } from "percolatordb";
import { derive } from "percolatordb/recipes";
import { beforeEach, describe, expect, it } from "vitest";
import { builtLibrary } from "../../../../test/support/built/library.js";
import { CommandLine } from "../../../../test/support/command-line.js";

const library = builtLibrary();

const app = `
import { table, text } from ${JSON.stringify(library.index)};
import { derive } from ${JSON.stringify(library.recipes)};
const people = table("people", { city: text() });
export default {
  tables: [people],
  derivations: [derive("by_city", { from: people, key: [text()], groupBy: (p) => [p.city], count: true })],
};
`;

const people = table("people", { city: text() });
const byCity = derive("by_city", { from: people, key: [text()], groupBy: (p) => [p.city], count: true });
const declared = { tables: [people, ...byCity.tables], observers: byCity.observers, collectEveryMs: 0 };

let cli: CommandLine;

beforeEach(async () => {
  cli = await CommandLine.create();
  await cli.write("app.ts", app);
  await using db = await open(join(cli.folder, "data"), declared);
  await db.transact((tx) => {
    tx.set(people.city, "ann", "Oslo");
    tx.set(people.city, "bob", "Bergen");
  });
  await db.drain();
});

const check = ["check", "data", "--derived", "--app", "app.ts"];

describe("check --derived", () => {
  it("finds nothing if every derived table is what its sources say", async () => {
    expect(await cli.run(check)).toMatchObject({ code: 0, stdout: "no problems\n", stderr: "" });
  });

  it("exits with 1 and lists the rows that are wrong", async () => {
    {
      await using db = await open(join(cli.folder, "data"), declared);
      await db.transact((tx) => {
        tx.set(byCity.table.count, ["Oslo"], 7);
        tx.delete(byCity.table.count, ["Bergen"]);
        tx.set(byCity.table.count, ["Rome"], 1);
      });
    }
    const { code, lines } = await cli.run(check);
    expect(code).toBe(1);
    expect(
      lines
        .slice(0, 3)
        .map((line) => line.replace(/;.*/, ""))
        .sort(),
    ).toEqual([
      'derived: by_city/["Bergen"]: the row is missing but should be {"count":1}',
      'derived: by_city/["Oslo"]: the row is {"count":7} but should be {"count":1}',
      'derived: by_city/["Rome"]: the row is {"count":1} but must not be there',
    ]);
    expect(lines[0]).toContain("percolator parked");
    expect(lines[3]).toBe("3 problems");
    const { documents } = await cli.run([...check, "--json"]);
    expect(documents[0]).toMatchObject({
      sound: false,
      problems: expect.arrayContaining([
        expect.objectContaining({ where: 'by_city/["Rome"]', expected: null, actual: { count: 1 } }),
      ]),
    });
  });

  it("says that changes are pending if they are", async () => {
    {
      await using db = await open(join(cli.folder, "data"), declared);
      await db.transact((tx) => tx.set(people.city, "eve", "Rome"));
    }
    const { code, lines } = await cli.run(check);
    expect(code).toBe(1);
    expect(lines[0]).toContain('by_city/["Rome"]: the row is missing');
    expect(lines[0]).toContain("changes are pending, so run `percolator wait`");
  });

  it("lists what cannot be derived, and the rest", async () => {
    const failing = app.replace("[p.city]", 'p.city === "Oslo" ? [5] : [p.city]');
    await cli.write("failing.ts", failing);
    const { code, lines } = await cli.run(["check", "data", "--derived", "--app", "failing.ts"]);
    expect(code).toBe(1);
    expect(lines[0]).toMatch(
      /^derived: by_city\/ann: cannot be derived: Derivation "by_city", row "ann" of people:/,
    );
    expect(lines[1]).toContain('by_city/["Oslo"]: the row is {"count":1} but must not be there');
    expect(lines[2]).toBe("2 problems");
  });

  it("needs a module, and derivations in it", async () => {
    const without = await cli.run(["check", "data", "--derived"]);
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("--app MODULE");
    await cli.write(
      "plain.ts",
      `import { table, text } from ${JSON.stringify(library.index)};\nexport default { tables: [table("a", { b: text() })] };`,
    );
    const plain = await cli.run(["check", "data", "--derived", "--app", "plain.ts"]);
    expect(plain.code).toBe(2);
    expect(plain.stderr).toContain("declares no derivations");
  });
});

describe("a worker", () => {
  it("backfills the derivations of its module, and keeps them up to date", async () => {
    {
      await using db = await open(join(cli.folder, "older"), { tables: [people], collectEveryMs: 0 });
      await db.transact((tx) => tx.set(people.city, "ann", "Oslo"));
    }
    const worker = cli.start(["worker", "older", "app.ts"]);
    await using db = await open(join(cli.folder, "older"), { collectEveryMs: 0 });
    const count = async () => await db.transact((tx) => tx.get(byCity.table.count, ["Oslo"]));
    await expect.poll(count).toBe(1);
    await db.transact((tx) => tx.set(people.city, "bob", "Oslo"));
    await expect.poll(count).toBe(2);
    worker.signal("SIGTERM");
    expect((await worker.outcome).code).toBe(0);
  });
});
