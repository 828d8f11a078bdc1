import { describe, expect, it } from "vitest";
import { CommandLine } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { open } from "../../../database/index.js";
import { observer } from "../../../observer/index.js";
import { schedule } from "../../../recipes/index.js";
import { text } from "../../../schema/index.js";

const titles = observer("titles", documents.title, () => undefined, { version: 2 });

describe("status", () => {
  it("shows tables, observers, sessions and the safepoint", async () => {
    const cli = await libraryCommandLine();
    await withLibrary(
      cli,
      async (db) => {
        await db.transact((tx) => tx.set(documents.title, "a", "Alpha 2"));
        await db.collect({ retentionMs: 0 });
      },
      { observers: [titles] },
    );
    const { code, documents: printed } = await cli.run(["status", "data", "--json"]);
    expect(code).toBe(0);
    expect(printed).toHaveLength(1);
    expect(printed[0]).toMatchObject({
      store: expect.stringMatching(/^lmdb:.*data$/),
      latestTimestamp: expect.any(Number),
      safepoint: expect.any(Number),
      statistics: { bytes: expect.any(Number) },
      tables: [
        { name: "documents", key: "text" },
        { name: "ledger", columns: [{ name: "total", kind: "column", codec: "custom" }] },
        { name: "visits", key: "tuple(text,int)" },
      ],
      observers: [
        {
          name: "titles",
          table: "documents",
          column: "title",
          version: 2,
          pending: { count: 1, more: false },
          parked: { count: 0, more: false },
          sessions: 0,
          backfills: [],
        },
      ],
      sessions: [],
      coordinator: null,
    });
    const { lines } = await cli.run(["status", "data", "--all"]);
    expect(lines.some((line) => /^safepoint +\d+ \(.*Z, .* ago\)$/.test(line))).toBe(true);
    expect(lines.some((line) => /^documents +anchors +text, family$/.test(line))).toBe(true);
    expect(lines.some((line) => /^visits +\(row key\) +tuple\(text,int\)$/.test(line))).toBe(true);
    expect(lines.some((line) => /^titles +documents\.title +2 +1 +\S+ ago +0 +no process$/.test(line))).toBe(
      true,
    );
    expect(lines).toContain("no sessions");
    expect(lines).toContain("statistics");
    // Without --all, due work comes first and the store's internals are omitted.
    const { lines: short } = await cli.run(["status", "data"]);
    expect(short[0]).toMatch(/^OBSERVER +WATCHES +VERSION +PENDING +OLDEST +PARKED +RUN BY$/);
    expect(short[1]).toMatch(/^titles /);
    expect(short.at(-1)).toMatch(/^store +lmdb:/);
    const withoutAges = (texts: readonly string[]) =>
      texts.map((line) => line.replace(/\S+ ago/, "ago").replace(/ +/g, " "));
    expect(withoutAges(lines.slice(0, short.length))).toEqual(withoutAges(short));
    expect(short.join("\n")).not.toMatch(/safepoint|timestamp|statistics/);
  });

  it("has each member of a schedule, even if nothing is overdue", async () => {
    const cli = await libraryCommandLine();
    const reminders = schedule("reminders", { value: text(), fire: () => {} });
    await withLibrary(cli, (db) => db.transact((tx) => reminders.at(tx, "later", 8e15, "x")), {
      tables: reminders.tables,
    });
    const { documents: printed } = await cli.run(["status", "data", "--json"]);
    expect(printed[0]!.schedules).toEqual([
      { schedule: "reminders", overdue: { count: 0, more: false }, oldestOverdue: null },
    ]);
  });

  it("shows which sessions run an observer", async () => {
    const cli = await libraryCommandLine();
    await withLibrary(
      cli,
      async (db) => {
        await using worker = db.work();
        await worker.idle();
        const { documents: printed } = await cli.run(["status", "data", "--json"]);
        expect(printed[0]).toMatchObject({
          observers: [{ sessions: 1 }],
          sessions: [{ observers: { titles: 2 } }],
        });
        const { lines } = await cli.run(["status", "data"]);
        expect(lines.some((line) => /^titles .* 1 process$/.test(line))).toBe(true);
      },
      { observers: [titles] },
    );
  });

  it("shows the coordinator, as the store records it or as it answers", async () => {
    const cli = await libraryCommandLine();
    await withLibrary(
      cli,
      async (db) => {
        await using worker = db.work();
        await worker.idle();
        const { leader } = (await db.status()).coordinator!;
        const { documents: unasked } = await cli.run(["status", "data", "--json"]);
        expect(unasked[0]!.coordinator).toEqual({
          leader,
          epoch: 1,
          answers: null,
          sessions: null,
          busy: null,
        });
        const { documents: asked } = await cli.run(["status", "data", "--json", "--coordinator", leader!]);
        const sessions = [...(await db.status()).sessions.keys()];
        expect(asked[0]!.coordinator).toEqual({ leader, epoch: 1, answers: true, sessions, busy: [] });
        const { lines } = await cli.run(["status", "data", "--coordinator", leader!]);
        expect(lines).toContain(`coordinator  ${leader}, epoch 1, 1 session, 0 busy`);
      },
      { observers: [titles], coordinator: { start: true, leaseMs: 400 } },
    );
    const { lines } = await cli.run(["status", "data"]);
    expect(lines).toContain("coordinator  no leader; the last epoch was 1");
  });

  it("shows an empty database", async () => {
    const cli = await CommandLine.create();
    await (await open(`${cli.folder}/data`)).close();
    const { lines } = await cli.run(["status", "data", "--all"]);
    expect(lines).toContain("no tables");
    expect(lines).toContain("no observers");
    expect(lines.some((line) => line.startsWith("safepoint") && line.includes("none"))).toBe(true);
  });
});
