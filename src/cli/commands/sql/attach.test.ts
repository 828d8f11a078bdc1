import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Shop, sums } from "../../../../test/postgres/attach/shop.js";
import { CommandLine, eventually, Printed } from "../../../../test/support/command-line.js";
import { open } from "../../../database/index.js";

let cli: CommandLine;
let shop: Shop;
let orders: ReturnType<Shop["declare"]>["orders"];
let options: Parameters<typeof open>[1];

/** The test modules read their exports from this global variable. */
const shared = globalThis as { app?: unknown };

beforeEach(async () => {
  cli = await CommandLine.create();
  shop = await Shop.create();
  const declared = shop.declare();
  orders = declared.orders;
  options = { tables: [orders, sums], observers: [declared.add] };
  shared.app = options;
  await cli.write("app.mjs", "export default globalThis.app;\n");
  await (await open(shop.place.location)).close();
});

afterEach(async () => {
  delete shared.app;
  await shop[Symbol.asyncDispose]();
});

const run = (command: string, ...args: readonly string[]) => cli.run([command, shop.place.location, ...args]);
const source = () => `"${shop.schema}"."orders"`;

describe("attach", () => {
  it("installs triggers, and copies the rows for the observers", async () => {
    await shop.sql("insert into T.orders values (1, 'a', 1), (2, 'b', 2), (3, null, null)");
    const { code, documents } = await run("attach", "app.mjs", "--json");
    expect(code).toBe(0);
    expect(documents).toEqual([{ tables: [source()], rows: 3, durationMs: expect.any(Number) }]);
    await shop.sql("update T.orders set total = 5 where id = 1");
    await using db = await open(shop.place.location, options);
    await shop.expectEqual(db, orders);
  });

  it("leaves the copy to workers with --no-copy", async () => {
    await shop.sql("insert into T.orders values (1, 'a', 1)");
    const { code, lines } = await run("attach", "app.mjs", "--no-copy");
    expect(code).toBe(0);
    expect(lines).toEqual([`attached ${source()}`, "workers copy the rows that exist"]);
    const { documents } = await run("attach", "app.mjs", "--check", "--json");
    expect(documents[0]).toMatchObject({ tables: [{ copy: { phase: "copy", rows: 0 } }] });
    await using db = await open(shop.place.location, options);
    await shop.expectEqual(db, orders);
  });

  it("shows its progress, and continues after an interruption", async () => {
    await shop.sql(
      "insert into T.orders select i, 'c', null from generate_series(1, 4000) i; analyze T.orders",
    );
    const stderr = new Printed(120);
    const command = cli.start(["attach", shop.place.location, "app.mjs"], { stderr });
    await eventually(() => expect(stderr.text).toMatch(/orders": \d+ rows copied, \d+\/s/));
    await eventually(async () => {
      const { documents } = await run("attach", "app.mjs", "--check", "--json");
      expect(documents[0]).toMatchObject({
        tables: [{ copy: { rows: expect.any(Number), estimatedRows: 4000 } }],
      });
    });
    command.signal("SIGINT");
    expect((await command.outcome).code).toBe(130);
    const next = await run("attach", "app.mjs", "--json");
    expect(next.code).toBe(0);
    expect(next.documents[0]).toMatchObject({ rows: 4000 });
    const again = await run("attach", "app.mjs");
    expect(again.stdout).toMatch(/^attached .*\n4000 rows copied in /);
  });

  it("refuses a module without attached tables, and a store that is not PostgreSQL", async () => {
    expect((await cli.run(["init", "data"])).code).toBe(0);
    const folder = await cli.run(["attach", "data", "app.mjs"]);
    expect(folder.stderr).toMatch(/need a database on PostgreSQL/);
    expect(folder.code).toBe(1);
    await cli.write("none.mjs", "export default { tables: globalThis.app.tables.slice(1) };\n");
    const none = await run("attach", "none.mjs");
    expect(none.stderr).toMatch(/declares no SQL table/);
    expect(none.code).toBe(2);
  });

  it("changes nothing if a table does not fit", async () => {
    await shop.sql("alter table T.orders drop total");
    const { code, stderr } = await run("attach", "app.mjs", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: "SCHEMA", message: expect.stringMatching(/no column "total"/) },
    });
    expect((await shop.sql("select to_regclass($1) as t", [shop.text("P.outbox")]))[0]!.t).toBeNull();
  });
});

describe("attach --check", () => {
  it("changes nothing, and says what is not attached", async () => {
    const { code, stdout } = await run("attach", "app.mjs", "--check");
    expect(code).toBe(1);
    expect(stdout).toMatch(/orders\s+not attached/);
    expect((await shop.sql("select to_regclass($1) as t", [shop.text("P.outbox")]))[0]!.t).toBeNull();
  });

  it("says what waits, and what is parked and why, as status and doctor do", async () => {
    await run("attach", "app.mjs");
    await shop.sql("insert into T.orders values (1, 'a', 1)");
    const waiting = await run("attach", "app.mjs", "--check", "--json");
    expect(waiting.code).toBe(0);
    expect(waiting.documents[0]).toMatchObject({
      fits: true,
      tables: [
        {
          source: source(),
          name: "orders",
          attached: true,
          parked: null,
          problems: [],
          pending: 1,
          oldestPending: expect.stringMatching(/^\d{4}-/),
          oldestPendingAgeMs: expect.any(Number),
          copy: { phase: "done" },
        },
      ],
    });
    await shop.sql("alter table T.orders drop customer");
    await using db = await open(shop.place.location, options);
    await expect(db.drain()).rejects.toThrow(/is parked|no column/);
    const parked = await run("attach", "app.mjs", "--check");
    expect(parked.code).toBe(1);
    expect(parked.stdout).toMatch(/parked since \d{4}-.*has no column "customer" any more/);
    expect(parked.stdout).toMatch(/run `percolator attach` again/);
    expect((await run("status")).stdout).toMatch(/orders\s+PARKED since \d{4}-/);
    expect((await run("status", "--json")).documents[0]).toMatchObject({
      attached: [{ source: source(), parked: { error: expect.stringMatching(/no column "customer"/) } }],
    });
    const doctor = await run("doctor", "app.mjs", "--json");
    expect(doctor.code).toBe(1);
    expect((doctor.documents[0] as { findings: unknown }).findings).toContainEqual({
      check: `attached ${source()}`,
      state: "problem",
      what: expect.stringMatching(/parked since .*no column "customer"/),
      advice: expect.stringMatching(/percolator attach LOCATION APP/),
    });
  });
});

describe("detach", () => {
  it("takes the name of an SQL table, or a module", async () => {
    await run("attach", "app.mjs");
    expect((await run("detach", `${shop.schema}.orders`)).stdout).toBe(`detached ${source()}\n`);
    expect((await run("detach", `${shop.schema}.orders`)).stderr).toMatch(
      /is not attached to this database\. No table is/,
    );
    await run("attach", "app.mjs");
    expect((await run("detach", "app.mjs", "--json")).documents).toEqual([{ detached: [source()] }]);
    expect((await run("detach", "app.mjs")).stdout).toBe("nothing was attached\n");
    const triggers = await shop.sql("select from pg_trigger where tgrelid = $1::regclass", [
      `${shop.schema}.orders`,
    ]);
    expect(triggers).toEqual([]);
    expect((await run("detach", "x'; drop table y")).stderr).toMatch(/takes a schema and a table/);
  });
});
