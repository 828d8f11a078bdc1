import { systemEnvironment, table, text } from "percolatordb";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { budgetFinding, examinePostgresServer, postgresFindings } from "../../src/cli/doctor/postgres.js";
import { bloatFindings, horizonFindings } from "../../src/cli/doctor/postgres-bloat.js";
import { standbyFindings } from "../../src/cli/doctor/postgres-standbys.js";
import { examinePostgres, type PostgresFacts } from "../../src/store/postgres/index.js";
import { CommandLine, eventually } from "../support/command-line.js";
import { openAlone } from "../support/databases.js";
import {
  locationBehind,
  newPlace,
  type PostgresPlace,
  placeAt,
  removePlace,
  withSuperuser,
} from "../support/postgres/index.js";
import { hasPgBouncer, startPgBouncer } from "../support/postgres/pgbouncer.js";

const documents = table("documents", { contents: text() });

let place: PostgresPlace;
/** A role with the privileges that the page lists. */
let role: string;
let schema: string;

beforeEach(async () => {
  place = await newPlace();
  schema = `"${place.schema.replaceAll('"', '""')}"`;
  role = `doctor_${process.pid}_${place.schema.replace(/\D/g, "")}`;
  await sql(`create role ${role} login`);
  await (await openAlone(place.location, { tables: [documents] })).close();
});

afterEach(async () => {
  await removePlace(place);
  await sql(`drop owned by ${role}; drop role ${role}`);
});

const sql = (query: string) => withSuperuser(place.host, (pool) => pool.query(query));
const location = () => placeAt(place.host, place.schema, role).location;
const facts = () => examinePostgres(location());

/** Gives the role what the page lists. */
async function grantAll(): Promise<void> {
  await sql(`
    grant usage on schema ${schema} to ${role};
    grant select, insert, update, delete on ${schema}.cells, ${schema}.writers to ${role};
    grant select, insert on ${schema}.tables to ${role};
    grant select, update on ${schema}.state, ${schema}.durable, ${schema}.woken to ${role}`);
}

/** The findings that are not ok, as `state check: what`. */
async function bad(writes = true): Promise<readonly string[]> {
  return postgresFindings(await facts(), writes)
    .filter(({ state }) => state !== "ok")
    .map(({ state, check, what }) => `${state} ${check}: ${what}`);
}

/** The server of the tests never flushes. It is the only one that a healthy place reports. */
const ofTests = "problem durability: `fsync` is off";

describe("percolator doctor on PostgreSQL", () => {
  test("lists what it examined, without a password, and finds nothing but what is there", async () => {
    await grantAll();
    expect(await bad()).toEqual([ofTests]);
    const cli = await CommandLine.create();
    const { code, documents: printed, stdout } = await cli.run(["doctor", location(), "--write", "--json"]);
    const { findings } = printed[0] as {
      findings: readonly { check: string; state: string; what: string }[];
    };
    expect(code).toBe(1);
    expect(findings.filter(({ state }) => state === "problem").map(({ check }) => check)).toEqual([
      "durability",
    ]);
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        "server",
        "role",
        "search path",
        "privileges",
        "server clock",
        "durability",
        "timeouts",
        "pooler",
        "notifications",
        "connections",
        "transactions",
        "bloat",
        "replication",
        "store",
        "writing",
        "connection budget",
      ]),
    );
    expect(findings.find(({ check }) => check === "server")!.what).toMatch(/^PostgreSQL \d+/);
    expect(stdout).not.toContain("password");
  });

  test("names a server that does not answer once, and not the password", async () => {
    const cli = await CommandLine.create();
    const { code, documents: printed } = await cli.run([
      "doctor",
      "postgres://someone:secret@127.0.0.1:1/nowhere",
      "--json",
    ]);
    const { findings } = printed[0] as {
      findings: readonly { check: string; state: string; what: string }[];
    };
    expect(code).toBe(1);
    const problems = findings.filter(({ state }) => state === "problem");
    expect(problems).toEqual([
      expect.objectContaining({ check: "server", what: expect.stringContaining("127.0.0.1:1") }),
    ]);
    expect(JSON.stringify(printed)).not.toContain("secret");
  });

  test("says which grants are missing; they are enough, and each is needed", async () => {
    const findings = postgresFindings(await facts(), true).filter(({ check }) => check === "privileges");
    expect(findings.length).toBeGreaterThan(5);
    expect(findings.every(({ state }) => state === "problem")).toBe(true);
    const grants = findings.map(({ advice }) => advice!.slice(advice!.indexOf("grant ")));
    await sql(grants.join("\n"));
    expect(await bad()).toEqual([ofTests]);
    await using db = await openAlone(location(), { tables: [documents], create: false });
    await db.transact((tx) => tx.set(documents.contents, "a", "x"));
    for (const grant of grants) {
      await sql(grant.replace("grant ", "revoke ").replace(/ to ("[^"]+");$/, " from $1;"));
      expect((await bad()).join("\n")).toContain(grant.slice("grant ".length, grant.lastIndexOf(" to ")));
      await sql(grant);
    }
  });

  test("takes a role that may only read for a warning, unless it must write", async () => {
    await sql(
      `grant usage on schema ${schema} to ${role}; grant select on all tables in schema ${schema} to ${role}`,
    );
    const states = async (writes: boolean) =>
      new Set(
        postgresFindings(await facts(), writes)
          .filter(({ check }) => check === "privileges")
          .map(({ state }) => state),
      );
    expect(await states(false)).toEqual(new Set(["warning"]));
    expect(await states(true)).toEqual(new Set(["problem"]));
  });

  test("finds functions that the role may not execute", async () => {
    await grantAll();
    await sql(`revoke execute on all functions in schema ${schema} from public`);
    expect((await bad()).join("\n")).toContain(`${role} lacks execute on all functions in schema ${schema}`);
    const [finding] = postgresFindings(await facts(), true).filter(({ state }) => state === "problem");
    await sql(finding!.advice!.slice(finding!.advice!.indexOf("grant ")));
    expect(await bad()).toEqual([ofTests]);
  });

  test("warns of a search path with a schema in which every role may create functions", async () => {
    await grantAll();
    const shared = `"shared ""${role}"`;
    await sql(`create schema ${shared}; grant usage, create on schema ${shared} to public;
      alter role ${role} set search_path = ${shared}, public`);
    try {
      const said = `warning search path: every role may create functions in ${shared}`;
      expect(await bad()).toEqual([said, ofTests]);
      const advised = postgresFindings(await facts(), true).find(({ check }) => check === "search path")!
        .advice!;
      await sql(advised.slice(advised.indexOf("revoke ")));
      expect(await bad()).toEqual([ofTests]);
    } finally {
      await sql(`drop schema ${shared} cascade`);
    }
  });

  test("warns of a superuser", async () => {
    await sql(`alter role ${role} superuser`);
    expect(await bad()).toEqual([`warning role: ${role} is a superuser`, ofTests]);
  });

  test.each([
    [
      "default_transaction_isolation = 'serializable'",
      "problem isolation: `default_transaction_isolation` is serializable",
    ],
    ["statement_timeout = 500", "problem timeouts: `statement_timeout` is 500ms"],
    ["lock_timeout = 5000", "warning timeouts: `lock_timeout` is 5s"],
    ["synchronous_commit = off", "warning durability: `synchronous_commit` is off"],
  ])("finds the setting %s of the role", async (setting, finding) => {
    await grantAll();
    await sql(`alter role ${role} set ${setting}`);
    expect((await bad()).filter((each) => each !== ofTests)).toEqual([finding]);
  });

  test("finds a role whose transactions are read-only", async () => {
    await grantAll();
    await sql(`alter role ${role} set default_transaction_read_only = on`);
    expect((await bad())[0]).toMatch(
      /^problem server: PostgreSQL .*, transactions of this role are read-only$/,
    );
  });

  test("names what holds back the removal of dead rows, without its statement", async () => {
    await grantAll();
    await sql(`grant pg_read_all_stats to ${role}`);
    await withSuperuser(place.host, async (pool) => {
      const client = await pool.connect();
      await client.query("set application_name = 'billing'");
      await client.query("begin");
      await client.query(`insert into ${schema}.tables (name) values ('secret')`);
      const { pid } = (await client.query<{ pid: number }>("select pg_backend_pid() as pid")).rows[0]!;
      const found = await facts();
      const finding = horizonFindings(found, 0).find(({ what }) => what.includes(`pid ${pid} `))!;
      expect(finding).toMatchObject({ check: "transactions", state: "warning" });
      expect(finding.what).toMatch(/of postgres \(billing\), idle in transaction, last statement at \d{4}-/);
      expect(finding.advice).toContain(`pg_terminate_backend(${pid})`);
      expect(JSON.stringify(found)).not.toContain("secret");
      // A transaction as young as this one is no finding.
      expect(horizonFindings(found).map(({ state }) => state)).toEqual(["ok"]);
      const aged = { ...found, holders: found.holders.map((holder) => ({ ...holder, ageMs: 4_000_000 })) };
      expect(horizonFindings(aged)[0]).toMatchObject({ state: "problem" });
      await client.query("rollback");
      client.release();
    });
  });

  test("says that it sees only the role's own transactions", async () => {
    await grantAll();
    expect(horizonFindings(await facts())[0]!.what).toContain(`grant pg_read_all_stats to "${role}"`);
  });

  test("finds tables with many dead rows, and a table that autovacuum does not visit", async () => {
    await grantAll();
    await sql(`alter table ${schema}.cells set (autovacuum_enabled = off)`);
    await sql(
      `insert into ${schema}.cells select 1, n::text::bytea, '', 2, n, '' from generate_series(1, 20000) n`,
    );
    await sql(`delete from ${schema}.cells where ts > 100`);
    // The server counts a moment later.
    await eventually(async () => {
      expect(await bad()).toEqual([
        ofTests,
        "problem autovacuum: off for the table cells",
        expect.stringMatching(
          /^warning bloat: the table cells has \d+ dead rows beside \d+, and autovacuum has never/,
        ),
      ]);
    });
    const off = { ...(await facts()).settings, autovacuum: "off" };
    expect(bloatFindings({ ...(await facts()), settings: off })[0]).toMatchObject({
      state: "problem",
      what: "`autovacuum` is off on this server",
    });
  });

  test.each([
    { name: "cells", live: 0, most: 10_000 },
    { name: "cells", live: 1_000_000, most: 250_000 },
    { name: "state", live: 1, most: 10_000 },
    { name: "outbox", live: 0, most: 500_000 },
    { name: "outbox", live: 4_000_000, most: 1_000_000 },
  ])("$most dead rows beside $live of $name are no bloat, and one more is", async ({ name, live, most }) => {
    await grantAll();
    const found = await facts();
    const verdict = (dead: number) => {
      const [table] = found.tables;
      return bloatFindings({ ...found, tables: [{ ...table!, name, live, dead }] }).map(({ state }) => state);
    };
    expect(verdict(most)).toEqual(["ok"]);
    expect(verdict(most + 1)).toEqual(["warning"]);
  });

  test("compares the server's clock with this machine's", async () => {
    await grantAll();
    const behind = (byMs: number) => ({ ...systemEnvironment, now: () => systemEnvironment.now() - byMs });
    const clock = async (byMs: number) =>
      (await examinePostgresServer(location(), false, behind(byMs))).findings.find(
        ({ check }) => check === "server clock",
      );
    expect(await clock(0)).toMatchObject({ state: "ok" });
    expect(await clock(30_000)).toMatchObject({
      state: "warning",
      what: expect.stringContaining("ahead of"),
    });
    expect(await clock(-3_600_000)).toMatchObject({
      state: "problem",
      what: expect.stringContaining("behind"),
    });
  });

  test("counts the connections that processes may need against those of the server", async () => {
    await grantAll();
    const found = await facts();
    expect(found.connections.perProcess).toBe(9);
    expect(budgetFinding(found, 2)).toMatchObject({ state: "ok" });
    expect(budgetFinding(found, 100)).toMatchObject({
      state: "warning",
      what: expect.stringContaining("100 processes with workers may use 900 of 397 connections"),
    });
  });

  test("says so if the role has no connection left", async () => {
    await grantAll();
    await sql(`alter role ${role} connection limit 1`);
    expect((await bad()).slice(1)).toEqual([
      "warning pooler: two connections at a time could not be compared",
      "problem connections of the role: 1 of 1",
    ]);
  });
});

describe.runIf(hasPgBouncer)("behind PgBouncer", () => {
  test.each(["transaction", "session"] as const)("the %s mode is recognized", async (mode) => {
    await using bouncer = await startPgBouncer(place.host, mode);
    const findings = async (parameter: string) =>
      postgresFindings(await examinePostgres(`${locationBehind(bouncer, place.schema)}${parameter}`), true)
        .filter(({ check }) => check === "pooler" || check === "notifications")
        .map(({ state, check, what }) => `${state} ${check}: ${what}`);
    const isTransaction = mode === "transaction";
    expect(await findings("")).toEqual(
      isTransaction
        ? [
            "problem pooler: transaction mode without prepared statements",
            "warning notifications: `LISTEN` hears nothing on these connections",
          ]
        : ["ok pooler: each connection has a session of the server", "ok notifications: heard"],
    );
    if (!isTransaction) return;
    expect((await findings("&prepare=false"))[0]).toBe(
      "ok pooler: transaction mode, and the location has prepare=false",
    );
  });
});

describe("settings of the whole server", () => {
  const standby = { name: "s1", state: "streaming", syncState: "async", lagMs: 5, lagBytes: 0 };
  const replicated = (changed: Partial<PostgresFacts>) =>
    facts().then((found) => standbyFindings({ ...found, ...changed }));

  test("that endanger data are problems", async () => {
    const found = await facts();
    const settings = { ...found.settings, fsync: "on", full_page_writes: "off" };
    expect(postgresFindings({ ...found, settings }, true)).toContainEqual(
      expect.objectContaining({ state: "problem", what: "`full_page_writes` is off" }),
    );
    expect(postgresFindings({ ...found, versionNumber: 130_012, version: "13.12" }, true)[0]).toMatchObject({
      state: "problem",
      what: "PostgreSQL 13.12, older than version 14",
    });
  });

  test("about standbys", async () => {
    expect(await replicated({})).toEqual([expect.objectContaining({ state: "ok", what: "no standby" })]);
    expect(await replicated({ standbys: [standby] })).toEqual([
      expect.objectContaining({
        state: "warning",
        what: "standby s1 (async, streaming), none of them synchronous",
      }),
    ]);
    const { settings } = await facts();
    const synchronous = { ...settings, synchronous_standby_names: "s1" };
    expect(await replicated({ settings: synchronous })).toEqual([
      expect.objectContaining({ state: "problem", what: "no synchronous standby is connected (s1)" }),
    ]);
    const sync = { ...standby, syncState: "sync" };
    expect(await replicated({ settings: synchronous, standbys: [sync] })).toEqual([
      expect.objectContaining({ state: "ok", what: "standby s1 (sync, streaming)" }),
    ]);
    expect(await replicated({ settings: synchronous, standbys: [{ ...sync, lagMs: 60_000 }] })).toEqual([
      expect.objectContaining({ state: "warning", what: expect.stringContaining("standby s1 is 1m 0s") }),
    ]);
  });

  test("a slot that nobody uses and for which the server keeps its log", async () => {
    const slot = `forgotten_${process.pid}`;
    await sql(`select pg_create_physical_replication_slot('${slot}', true)`);
    try {
      const found = await facts();
      const here = found.slots.find(({ name }) => name === slot)!;
      expect(here).toMatchObject({ active: false });
      expect(await replicated({ slots: [{ ...here, keptBytes: 2 ** 31 }] })).toContainEqual(
        expect.objectContaining({ check: "replication slots", state: "warning" }),
      );
    } finally {
      await sql(`select pg_drop_replication_slot('${slot}')`);
    }
  });
});
