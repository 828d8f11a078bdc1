import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { builtLibrary } from "../../../../test/support/built/library.js";
import { CommandLine } from "../../../../test/support/command-line.js";
import { type Emulator, startEmulator } from "../../../../test/support/emulator/index.js";
import { ledgerModule } from "../../../../test/support/library.js";
import { newPlace, removePlace } from "../../../../test/support/postgres/index.js";
import { openBigtableStore } from "../../../store/bigtable/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await CommandLine.create();
});

describe("init of a folder", () => {
  it("creates it, says so, and may be repeated", async () => {
    const folder = join(cli.folder, "data");
    expect(await cli.run(["init", "data", "--dry-run"])).toMatchObject({
      code: 0,
      stdout: `would be created: folder (${folder})\n`,
    });
    expect(existsSync(folder)).toBe(false);
    expect(await cli.run(["init", "data"])).toMatchObject({
      code: 0,
      stdout: `created: folder (${folder})\n`,
    });
    expect(await cli.run(["init", "data"])).toMatchObject({
      code: 0,
      stdout: `folder exists (${folder})\n`,
    });
    expect((await cli.run(["status", "data"])).code).toBe(0);
  });

  it("records no tables of a module, and a command then says who does", async () => {
    await cli.write("app.ts", ledgerModule(builtLibrary().index));
    expect((await cli.run(["init", "data", "--app", "app.ts"])).code).toBe(0);
    const { code, stderr } = await cli.run(["get", "data", "ledger.total", "all"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr:
        'error: The database has no table "ledger"; it has recorded none yet. Give the module that declares it with --app MODULE. (SCHEMA)\n',
    });
    expect((await cli.run(["get", "data", "ledger.total", "all", "--app", "app.ts"])).code).toBe(1);
  });
});

describe("init on Bigtable", () => {
  let emulator: Emulator;
  const location = "bigtable://project/instance?prefix=shop";
  const own = ["~system", "~hints", "~parked", "~oracle"];

  beforeAll(async () => {
    emulator = await startEmulator();
  });
  beforeEach(() => vi.stubEnv("BIGTABLE_EMULATOR_HOST", emulator.host));
  afterEach(() => vi.unstubAllEnvs());
  afterAll(() => emulator.stop());

  const states = async (...args: string[]) => {
    const { code, documents } = await cli.run(["init", location, "--json", ...args]);
    expect(code).toBe(0);
    const [{ needs }] = documents as unknown as [{ needs: { name: string; state: string }[] }];
    return needs.map(({ name, state }) => `${name} ${state}`);
  };

  it("creates missing tables, including those of a module", async () => {
    const missing = own.map((name) => `table ${name} missing`);
    expect(await states("--dry-run")).toEqual(missing);
    expect(await states("--dry-run")).toEqual(missing);
    expect(await states()).toEqual(missing);
    const there = own.map((name) => `table ${name} there`);
    expect(await states()).toEqual(there);
    await cli.write(
      "app.mjs",
      `const brand = await import(${JSON.stringify(new URL("../../../schema/index.ts", import.meta.url).href)});
       export default { tables: [brand.table("things", { title: brand.text() })] };`,
    );
    expect(await states("--app", "app.mjs")).toEqual([...there, "table things missing"]);
    expect((await cli.run(["init", location, "--app", "app.mjs"])).lines.at(-1)).toBe(
      "table things exists (projects/project/instances/instance/tables/shop..things)",
    );
  });

  it("creates everything for a store that may not create tables itself", async () => {
    const place = "bigtable://project/instance?prefix=later";
    const open = () => openBigtableStore(place, { create: false });
    {
      const store = await open();
      await expect(store.prepare(own)).rejects.toThrow("percolator init");
      await store.close();
    }
    expect((await cli.run(["init", place])).code).toBe(0);
    const store = await open();
    await store.prepare(own);
    await store.close();
  });
});

describe("init on PostgreSQL", () => {
  it("creates the schema, says so, and may be repeated", async () => {
    const place = await newPlace();
    const location = place.location.replace("postgres@", "postgres:secret@");
    const states = async (...args: string[]) => {
      const { code, documents, stdout } = await cli.run(["init", location, "--json", ...args]);
      expect([code, stdout.includes("secret")]).toEqual([0, false]);
      const [{ needs }] = documents as unknown as [{ needs: { name: string; state: string }[] }];
      return needs.map(({ name, state }) => `${name} ${state}`);
    };
    try {
      expect(await states("--dry-run")).toEqual(["schema missing"]);
      expect(await states()).toEqual(["schema missing"]);
      expect(await states()).toEqual(["schema there"]);
      expect((await cli.run(["status", location])).code).toBe(0);
      const doctor = await cli.run(["doctor", location, "--json"]);
      const [{ findings }] = doctor.documents as unknown as [{ findings: { state: string; what: string }[] }];
      // The server of the tests does not flush.
      const problems = findings.filter(({ state }) => state === "problem").map(({ what }) => what);
      expect(problems).toEqual(["`fsync` is off"]);
    } finally {
      await removePlace(place);
    }
  });
});
