import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";
import { table, text } from "../../../schema/index.js";
import { openLmdbStore } from "../../../store/lmdb/index.js";
import { StepHooks, stopsBefore } from "../../../testing/index.js";
import { putHint, systemCell } from "../../../transaction/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

afterEach(() => {
  delete shared.app;
});

interface Found {
  readonly check: string;
  readonly state: string;
  readonly what: string;
  readonly advice: string | null;
}

async function examine(...args: string[]) {
  const { code, documents: printed } = await cli.run(["doctor", "data", ...args, "--json"]);
  const { healthy, findings } = printed[0] as { healthy: boolean; findings: readonly Found[] };
  for (const { state, advice } of findings) expect(advice === null).toBe(state === "ok");
  return { code, healthy, findings, bad: findings.filter(({ state }) => state !== "ok") };
}

/** The test modules read their exports from this global variable. */
const shared = globalThis as { app?: unknown };

describe("doctor", () => {
  it("finds no problem if there is none, and lists what it checked", async () => {
    const { code, healthy, bad, findings } = await examine("--write");
    expect({
      code,
      healthy,
      bad: bad.filter(({ check }) => check !== "disk" && check !== "file descriptors"),
    }).toEqual({
      code: 0,
      healthy: true,
      bad: [],
    });
    expect(findings.map(({ check }) => check)).toEqual(
      expect.arrayContaining([
        "node",
        "package",
        "permissions",
        "disk",
        "store",
        "map size",
        "clock",
        "writing",
        "locks",
        "records",
        "catalog",
      ]),
    );
    const { lines } = await cli.run(["doctor", "data"]);
    expect(lines[0]).toMatch(/^ok +node +\d/);
    expect(lines.at(-1)).toMatch(/^0 problems, \d warnings?$/);
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 0 });
  });

  it("finds observers that no worker runs, and parked changes", async () => {
    const failing = observer("failing", documents.title, () => Promise.reject(new Error("no")), {
      attempts: 1,
    });
    await withLibrary(
      cli,
      async (db) => {
        await db.transact((tx) => tx.set(documents.title, "a", "x"));
        await db.drain();
        await db.transact((tx) => tx.set(documents.title, "b", "y"));
      },
      { observers: [failing] },
    );
    const { code, bad } = await examine();
    expect(code).toBe(1);
    expect(bad.filter(({ state }) => state === "problem")).toMatchObject([
      { check: "observer failing", what: "no worker runs it, 1 pending" },
      { check: "observer failing", what: "1 parked", advice: expect.stringContaining("--retry") },
    ]);
  });

  it("shows many observers of which it says the same in one line", async () => {
    const idle = Array.from({ length: 8 }, (_, n) => observer(`idle-${n}`, documents.title, () => {}));
    await withLibrary(cli, async () => {}, { observers: idle });
    const { findings } = await examine();
    const lines = (await cli.run(["doctor", "data"])).lines.filter((line) => line.includes("idle-0"));
    const own = findings.filter(({ check }) => check.startsWith("observer idle-"));
    expect(own).toHaveLength(8);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^WARNING +8 observers +no worker runs it, nothing pending: idle-0, idle-1, idle-2, idle-3, idle-4 and 3 more$/,
    );
  });

  it("finds locks without an owner", async () => {
    const hooks = new StepHooks();
    hooks.once("commit-timestamp", stopsBefore);
    await withLibrary(
      cli,
      async (db) => {
        db.transact((tx) => tx.set(documents.title, "a", "x")).catch(() => undefined);
        await eventually(() => expect(hooks.count("commit-timestamp")).toBe(1));
      },
      { commit: "two-phase", hooks, lockTtlMs: 1 },
    );
    const { findings } = await examine();
    expect(findings.find(({ check }) => check === "locks")).toMatchObject({
      state: "warning",
      what: expect.stringContaining("1 lock, 1 expired, the oldest not refreshed for "),
    });
  });

  it("finds invalid records of processes, and says what removes them", async () => {
    const store = await openLmdbStore(join(cli.folder, "data"));
    const records = {
      years: JSON.stringify({ observers: {}, expires: 8e15, process: "p" }),
      broken: "{",
    };
    for (const [session, text] of Object.entries(records)) {
      const { table, row, column } = systemCell(`session/${session}`, "state");
      await store.mutate({ table, row, guards: [], mutations: [putHint(column, 1, Buffer.from(text))] });
    }
    await store.close();
    const { findings } = await examine();
    expect(findings.filter(({ check }) => check === "records")).toEqual([
      expect.objectContaining({ state: "warning", what: expect.stringContaining("session broken: ") }),
      expect.objectContaining({
        state: "warning",
        what: expect.stringContaining("session years: it expires only at "),
        advice: expect.stringContaining("`percolator gc`"),
      }),
    ]);
  });

  it("compares a module with the recorded tables", async () => {
    const sizes = (version: number) => observer("sizes", documents.title, () => {}, { version });
    const other = observer("other", documents.title, () => {});
    await withLibrary(cli, async () => {}, { observers: [sizes(2), other] });
    const changed = table("documents", { title: text(), size: text() });
    shared.app = { tables: [changed, table("more", { x: text() })], observers: [sizes(1)] };
    await cli.write("app.mjs", "export default globalThis.app;\n");
    const { code, bad } = await examine("app.mjs");
    expect(code).toBe(1);
    expect(bad.map(({ check, state, what }) => `${state} ${check}: ${what}`)).toEqual(
      expect.arrayContaining([
        "warning catalog: table more of the module is not recorded",
        "problem catalog: column documents.size is recorded as column of int, but declared as column of text",
        "problem observer sizes: registered in version 2, the module has 1",
        "warning observer other: no worker runs it, nothing pending, and the module does not declare it",
      ]),
    );
    const said = bad.filter(({ check }) => check === "observer other");
    expect(said).toMatchObject([{ advice: expect.stringContaining("percolator unregister LOCATION other") }]);
    expect(said[0]!.advice).not.toContain("Start a worker");
    expect((await cli.run(["status", "data", "--json"])).documents[0]).toMatchObject({
      tables: [{ name: "documents" }, { name: "ledger" }, { name: "visits" }],
    });
  });

  it("reports a location that is not a database, and does not change it", async () => {
    const missing = await cli.run(["doctor", "nowhere", "--json"]);
    expect(missing.code).toBe(1);
    const { findings } = missing.documents[0] as { findings: readonly Found[] };
    expect(findings.filter(({ state }) => state === "problem").map(({ check }) => check)).toEqual([
      "folder",
      "store",
    ]);
    await mkdir(join(cli.folder, "other"));
    await writeFile(join(cli.folder, "other", "notes.txt"), "mine");
    expect(await cli.run(["doctor", "other"])).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("PROBLEM"),
    });
    expect(await cli.run(["doctor", "data", "nowhere.ts"])).toMatchObject({ code: 2 });
  });
});
