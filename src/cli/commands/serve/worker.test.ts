import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  CommandLine,
  eventually,
  type Printed,
  type RunningCommand,
} from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { newPlace, removePlace } from "../../../../test/support/postgres/index.js";
import { ProgramProcess } from "../../../../test/support/program-process.js";
import { open } from "../../../database/index.js";
import { NewerValueError, StoreError } from "../../../errors/index.js";
import { observer } from "../../../observer/index.js";
import { derive, schedule } from "../../../recipes/index.js";
import { feed, text } from "../../../schema/index.js";

let cli: CommandLine;
let running: string[];
let release: () => void;

/**
 * The test modules read their exports from this global variable, so observers share the variables
 * of a test.
 */
const shared = globalThis as { app?: unknown };

beforeEach(async () => {
  cli = await libraryCommandLine();
  running = [];
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  shared.app = {
    tables: [documents],
    observers: [
      observer("sizes", documents.title, (tx, { row, value }) =>
        tx.set(documents.size, row, value?.length ?? 0),
      ),
      observer("slow", documents.links, async (tx, { row }) => {
        running.push(row);
        await gate;
        tx.set(documents.title, row, "linked");
      }),
      observer(
        "failing",
        documents.thumbnail,
        () => {
          throw new Error("no\nthumbnail");
        },
        { attempts: 2, backoff: { initialMs: 0 } },
      ),
    ],
  };
  await cli.write("app.mjs", "export default globalThis.app;\n");
});

const eventsOf = ({ stdout }: RunningCommand) =>
  (stdout as Printed).text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const start = async (...args: string[]) => {
  const command = cli.start(["worker", "data", "app.mjs", ...args]);
  await eventually(() => expect((command.stdout as Printed).text).not.toBe(""));
  return command;
};

const set = (target: string, row: string, value: string) => cli.run(["set", "data", target, row, value]);

describe("worker", () => {
  it("runs the observers of a module until a signal", async () => {
    const command = await start("--json");
    await set("documents.title", "new", "12345");
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0, stderr: "" });
    expect((await cli.run(["get", "data", "documents.size", "new"])).stdout).toBe("5\n");
    const time = expect.any(String);
    expect(eventsOf(command)).toEqual([
      { event: "started", time, observers: ["sizes", "slow", "failing"], schedules: [] },
      { event: "stopping", time, signal: "SIGTERM", running: expect.any(Number) },
      { event: "stopped", time, runs: expect.objectContaining({ committed: 1, failed: 0 }), givenUp: 0 },
    ]);
  });

  it("exits with 3 and a reason when it may run none of its observers any more", async () => {
    const command = await start("--json", "--observer", "sizes");
    await using db = await open(`${cli.folder}/data`);
    await db.unregister("sizes");
    expect(await command.outcome).toMatchObject({ code: 3 });
    expect(eventsOf(command)).toContainEqual({
      event: "obsolete",
      time: expect.any(String),
      reasons: ['Observer "sizes" was unregistered; this program has version 1 and no longer runs it.'],
    });
  });

  it("ends when the reader of its log has gone", async () => {
    let printed = 0;
    // The reader takes one line, which reports that the worker has started.
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => {
        if (printed++ === 0) done();
        else done(Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
      },
    });
    const command = cli.start(["worker", "data", "app.mjs", "--json"], { stdout });
    await eventually(() => expect(printed).toBe(1));
    await set("documents.thumbnail", "new", "AA==");
    expect(await command.outcome).toMatchObject({
      code: 141,
      stderr: expect.stringContaining('"code":"OUTPUT"'),
    });
  });

  it("is ready while it runs one of its observers, and otherwise says why not", async () => {
    const command = await start("--json", "--metrics", "0", "--dashboard", "0", "--observer", "slow");
    const { metrics, dashboard } = eventsOf(command)[0] as Record<"metrics" | "dashboard", string>;
    const readiness = () =>
      Promise.all(
        [metrics, dashboard].map(async (address) => {
          const response = await fetch(new URL("/readyz", address));
          return { status: response.status, text: await response.text() };
        }),
      );
    const ready = { status: 200, text: "ok\n" };
    await eventually(async () => expect(await readiness()).toEqual([ready, ready]));
    await set("documents.links", "new", "[]");
    await eventually(() => expect(running).toEqual(["new"]));
    await using db = await open(`${cli.folder}/data`);
    await db.unregister("slow");
    // The worker answers until its last run has ended.
    const unready = {
      status: 503,
      text: 'Observer "slow" was unregistered; this program has version 1 and no longer runs it.\n',
    };
    await eventually(async () => expect(await readiness()).toEqual([unready, unready]));
    expect((await fetch(new URL("/healthz", metrics))).status).toBe(200);
    release();
    expect(await command.outcome).toMatchObject({ code: 3 });
  });

  it("serves its metrics at the given address", async () => {
    const command = await start("--json", "--metrics", "0");
    const { metrics } = eventsOf(command)[0] as { readonly metrics: string };
    await set("documents.title", "new", "12345");
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    // The change leaves the list of pending changes a moment before its run is counted.
    await eventually(async () =>
      expect(await (await fetch(metrics)).text()).toContain(
        'percolator_runs_total{process="1",observer="sizes",outcome="committed"} 1\n',
      ),
    );
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0 });
    await expect(fetch(metrics)).rejects.toThrow();
  });

  it("after a signal starts no new run and finishes the running ones", async () => {
    const command = await start("--json");
    await set("documents.links", "new", "[]");
    await eventually(() => expect(running).toEqual(["new"]));
    command.signal("SIGINT");
    await eventually(() => expect(eventsOf(command).at(-1)).toMatchObject({ event: "stopping", running: 1 }));
    release();
    expect(await command.outcome).toMatchObject({ code: 0 });
    expect((await cli.run(["get", "data", "documents.title", "new"])).stdout).toBe("linked\n");
    expect(await cli.run(["get", "data", "documents.size", "new"])).toMatchObject({ code: 1 });
    const { documents: pending } = await cli.run(["pending", "data", "--json"]);
    expect(pending.map((change) => change.observer)).toEqual(["sizes"]);
  });

  it("aborts runs that take longer than the deadline", async () => {
    const command = await start("--json", "--drain-deadline", "20ms");
    await set("documents.links", "new", "[]");
    await eventually(() => expect(running).toEqual(["new"]));
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 1 });
    expect(eventsOf(command).at(-1)).toMatchObject({ event: "stopped", givenUp: 1 });
    const { documents: pending } = await cli.run(["pending", "data", "--json"]);
    expect(pending.map((change) => change.observer)).toEqual(["slow"]);
    release();
  });

  it("ends at once after a second signal", async () => {
    const command = await start();
    await set("documents.links", "new", "[]");
    await eventually(() => expect(running).toEqual(["new"]));
    command.signal("SIGTERM");
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 143 });
    release();
    await withLibrary(cli, async () => undefined);
  });

  it("logs failures and parked changes", async () => {
    const command = await start("--json");
    await set("documents.thumbnail", "new", "AA==");
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    command.signal("SIGTERM");
    await command.outcome;
    const failures = eventsOf(command).filter(({ observer: name }) => name === "failing");
    expect(failures.map(({ event, attempts, error }) => [event, attempts, error])).toEqual([
      ["failed", 1, "Error: no\nthumbnail"],
      ["failed", 2, "Error: no\nthumbnail"],
      ["parked", 2, "Error: no\nthumbnail"],
    ]);
    for (const failure of failures) {
      expect(failure).toMatchObject({ table: "documents", column: "thumbnail", row: "new" });
      expect((failure as unknown as { stack: string[] }).stack[0]).toMatch(/^at .+\.ts:\d+:\d+/);
    }
  });

  it("prints a failure that counts as no attempt once in 10 s for an observer, with the number of others", async () => {
    let runs = 0;
    shared.app = {
      tables: [documents],
      observers: [
        observer("behind", documents.title, (_tx, { row }) => {
          runs++;
          throw new NewerValueError(`${row} has a newer version`);
        }),
      ],
    };
    const begun = performance.now();
    const command = await start();
    for (let row = 0; row < 8; row++) await set("documents.title", `r${row}`, "x");
    // Each row fails several times.
    await eventually(() => expect(runs).toBeGreaterThan(32));
    command.signal("SIGINT");
    const { lines } = await command.outcome;
    const failures = lines.filter((line) => line.includes("NewerValueError"));
    const spansOf10s = Math.floor((performance.now() - begun) / 10_000);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.length).toBeLessThanOrEqual(1 + spansOf10s);
    expect(failures[0]).toMatch(
      / behind failed, which counts as no attempt, on documents\.title, row r\d: NewerValueError: r\d has a newer version$/,
    );
    expect(lines.filter((line) => line.startsWith("    at "))).toEqual([]);
  });

  it("prints lines with their time for people", async () => {
    const command = await start();
    await set("documents.thumbnail", "new", "AA==");
    // The change leaves the list of pending changes a moment before the log prints that it was
    // parked.
    await eventually(() => expect((command.stdout as Printed).text).toContain("parked after"));
    command.signal("SIGINT");
    const { lines } = await command.outcome;
    const isFrame = (line: string) => line.startsWith("    at ");
    expect(lines.filter(isFrame).length).toBeGreaterThanOrEqual(3);
    const events = lines.filter((line) => !isFrame(line));
    expect(events.map((line) => line.replace(/^\S+Z /, "").replace(/for \d+ runs?/, "for runs"))).toEqual([
      "running sizes, slow, failing",
      "failing failed, attempt 1, on documents.thumbnail, row new: Error: no\\nthumbnail",
      "failing failed, attempt 2, on documents.thumbnail, row new: Error: no\\nthumbnail",
      "failing parked after 2 attempts, on documents.thumbnail, row new: Error: no\\nthumbnail",
      "SIGINT: waiting for runs to end",
      "stopped after 0 runs",
    ]);
  });

  it("runs only the named observers", async () => {
    const command = await start(
      "--json",
      "--observer",
      "failing",
      "--observer",
      "sizes",
      "--concurrency",
      "2",
    );
    expect(eventsOf(command)[0]).toMatchObject({ observers: ["failing", "sizes"] });
    command.signal("SIGTERM");
    await command.outcome;
  });

  it("creates a database if there is none, and says so", async () => {
    cli = await CommandLine.create();
    // As on a new file system.
    await mkdir(join(cli.folder, "data", "lost+found"), { recursive: true });
    await cli.write("app.mjs", "export default globalThis.app;\n");
    const command = await start();
    const path = join(cli.folder, "data");
    expect((command.stdout as Printed).text).toContain(
      `created the database, since there was none at ${path}`,
    );
    expect(await set("documents.title", "first", "abc")).toMatchObject({ code: 0 });
    await cli.run(["wait", "data", "--timeout", "1m"]);
    command.signal("SIGTERM");
    await command.outcome;
    expect((await cli.run(["get", "data", "documents.size", "first"])).stdout).toBe("3\n");
    const again = await start("--json");
    again.signal("SIGTERM");
    await again.outcome;
    expect(eventsOf(again)[0]).not.toHaveProperty("created");
  });

  it("creates no database with --no-create", async () => {
    const { code, stderr } = await cli.run(["worker", "missing", "app.mjs", "--no-create"]);
    expect(code).toBe(1);
    expect(stderr).toContain("There is no database in");
    expect(existsSync(join(cli.folder, "missing"))).toBe(false);
    const args = ["worker", join(cli.folder, "missing"), join(cli.folder, "app.mjs"), "--no-create"];
    const supervisor = new ProgramProcess("src/cli/main.ts", [...args, "--processes", "2"]);
    await supervisor.ended();
    expect(supervisor.lines).toEqual([]);
    expect(supervisor.end).toBe("1");
    expect(supervisor.errors).toContain("There is no database in");
  });

  it("says which schema it created on PostgreSQL, without the password", async () => {
    const place = await newPlace();
    onTestFinished(() => removePlace(place));
    const location = place.location.replace("postgres@", "postgres:secret@");
    const command = cli.start(["worker", location, "app.mjs", "--json"]);
    await eventually(() => expect(eventsOf(command)).toHaveLength(1));
    command.signal("SIGTERM");
    await command.outcome;
    expect(eventsOf(command)[0]).toMatchObject({
      event: "started",
      created: expect.stringContaining(encodeURIComponent(place.schema)),
    });
    expect((command.stdout as Printed).text).not.toContain("secret");
  });

  it("handles changes that were set with the module before the first worker", async () => {
    cli = await CommandLine.create();
    await cli.write("app.mjs", "export default globalThis.app;\n");
    const set = await cli.run(["set", "data", "documents.title", "first", "abc", "--app", "app.mjs"]);
    expect(set).toMatchObject({ code: 0, stderr: "" });
    const command = await start();
    await cli.run(["wait", "data", "--timeout", "1m"]);
    command.signal("SIGTERM");
    await command.outcome;
    expect((await cli.run(["get", "data", "documents.size", "first"])).stdout).toBe("3\n");
  });

  it.each([
    [["nothing.mjs"], "There is no module nothing.mjs"],
    [["app.mjs", "--observer", "nobody"], "sizes, slow, failing"],
    [["app.mjs", "--concurrency", "0"], "--concurrency"],
    [["app.mjs", "--drain-deadline", "long"], "--drain-deadline"],
    [["tables.mjs"], "declares no observers"],
    [["app.mjs", "--processes", "0"], "--processes"],
    [["app.mjs", "--processes", "2000"], "1 to 1024"],
    [["app.mjs", "--processes", "2"], "starts this program again"],
    [["app.mjs", "--coordinator", "nowhere"], "HOST:PORT"],
    [["app.mjs", "--metrics", "0.0.0.0:0"], "--metrics-token-file"],
    [["app.mjs", "--metrics", "1.2.3.4"], "PORT or HOST:PORT"],
    [["app.mjs", "--metrics", "70000"], "PORT or HOST:PORT"],
    [["app.mjs", "--coordinator", "auto", "--token-file", "missing"], "--token-file cannot be read"],
    [["app.mjs", "--coordinator", "auto", "--tls-cert", "c.pem"], "--tls-key"],
  ])("refuses %j", async (args, message) => {
    await cli.write("tables.mjs", "export default { tables: globalThis.app.tables };\n");
    const { code, stdout, stderr } = await cli.run(["worker", "data", ...args]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(message);
  });

  it("creates no database for a module with a contradiction", async () => {
    const twice = [
      observer("twice", documents.title, () => undefined),
      observer("twice", documents.size, () => undefined),
    ];
    shared.app = { observers: twice };
    expect(await cli.run(["worker", "new", "app.mjs"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Two observers are named "twice"'),
    });
    expect(existsSync(join(cli.folder, "new"))).toBe(false);
  });

  it("registers the feeds of the module", async () => {
    const observers = [observer("nothing", documents.title, () => undefined)];
    shared.app = { tables: [documents], observers, feeds: [feed("titles", [documents.title])] };
    const command = await start("--json");
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0 });
    await withLibrary(cli, async (db) => expect([...(await db.feeds()).keys()]).toEqual(["titles"]));
  });

  it("exits with 1 if the module contradicts the recorded tables", async () => {
    const other = observer("sizes", documents.size, () => undefined);
    await withLibrary(cli, async () => undefined, { observers: [other] });
    const { code, stderr } = await cli.run(["worker", "data", "app.mjs"]);
    expect(code).toBe(1);
    expect(stderr).toContain("(OBSERVER)");
  });

  it("runs the schedules of a module; status, wait and doctor count overdue ones", async () => {
    const fired: string[] = [];
    const rechecks = schedule("rechecks", {
      value: text(),
      fire: (tx, { key, value }) => {
        if (value === "broken") throw new Error("no\nfire");
        fired.push(key);
        tx.set(documents.title, key, value);
      },
    });
    shared.app = { tables: [documents], schedules: [rechecks] };
    const add = (key: string, time: number, value: string) =>
      withLibrary(cli, (db) => db.transact((tx) => rechecks.at(tx, key, time, value)), {
        tables: rechecks.tables,
      });
    for (let n = 0; n < 20; n++) await add(`late ${n}`, 1_000 + n, "fired");
    await add("future", 8e15, "fired");
    const { documents: before } = await cli.run(["status", "data", "--json"]);
    expect(before[0]!.schedules).toEqual([
      {
        schedule: "rechecks",
        overdue: { count: 20, more: false },
        oldestOverdue: new Date(1_000).toISOString(),
      },
    ]);
    expect((await cli.run(["status", "data"])).stdout).toMatch(/rechecks +20 +/);
    expect(await cli.run(["wait", "data", "--timeout", "1ms"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("schedule rechecks (20 overdue)"),
    });
    expect((await cli.run(["doctor", "data"])).stdout).toMatch(/WARNING.*schedule rechecks.*20 overdue/);
    await add("bad", 1, "broken");
    const command = await start("--json");
    await eventually(() => expect(fired).toHaveLength(20));
    await eventually(() =>
      expect(eventsOf(command)).toContainEqual(
        expect.objectContaining({
          event: "scheduleFailure",
          schedule: "rechecks",
          key: "bad",
          error: "Error: no\nfire",
        }),
      ),
    );
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0, stderr: "" });
    expect(eventsOf(command)[0]).toMatchObject({ event: "started", observers: [], schedules: ["rechecks"] });
    expect(fired).not.toContain("future");
    // No worker tries the entry that fails again, so it would be overdue after a while.
    const { tables } = rechecks;
    const isCancelled = await withLibrary(cli, (db) => db.transact((tx) => rechecks.cancel(tx, "bad")), {
      tables,
    });
    expect(isCancelled).toBe(true);
    expect((await cli.run(["doctor", "data"])).stdout).not.toContain("overdue, the oldest");
  });

  it("repeats a backfill of a derivation that failed, as while the store is away", async () => {
    await set("documents.title", "a", "monday");
    const titles = derive("by_title", {
      from: documents,
      key: [text()],
      groupBy: ({ title }) => (title === undefined ? undefined : [title]),
      count: true,
    });
    const backfill = titles.backfill.bind(titles);
    let calls = 0;
    titles.backfill = async (db, options) => {
      if (++calls === 1) throw new StoreError("The store is away.");
      return await backfill(db, options);
    };
    shared.app = { tables: [documents], derivations: [titles] };
    const command = await start("--json");
    await eventually(async () => {
      expect(await cli.run(["get", "data", "by_title", '["monday"]'])).toMatchObject({ code: 0 });
    });
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 0, stderr: "" });
    expect(calls).toBe(2);
    expect(eventsOf(command)).toContainEqual(
      expect.objectContaining({ event: "derivationFailure", derivation: "by_title" }),
    );
  });
});
