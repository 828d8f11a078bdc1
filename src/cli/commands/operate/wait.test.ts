import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually, Printed } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";
import { schedule } from "../../../recipes/index.js";
import { boolean } from "../../../schema/index.js";
import { isIdle } from "./wait.js";

let cli: CommandLine;
let release: () => void;
let gate: Promise<void>;

const titles = observer("titles", documents.title, async () => gate);

beforeEach(async () => {
  cli = await libraryCommandLine();
  gate = new Promise((resolve) => {
    release = resolve;
  });
});

describe("wait", () => {
  it("ends at once if nothing is due", async () => {
    const { code, documents: printed } = await cli.run(["wait", "data", "--json"]);
    expect(code).toBe(0);
    expect(printed).toEqual([{ idle: true, waitedMs: expect.any(Number) }]);
  });

  it("ends when a worker has handled everything", async () => {
    await withLibrary(
      cli,
      async (db) => {
        await using worker = db.work();
        await db.transact((tx) => tx.set(documents.title, "a", "Alpha 2"));
        const stderr = new Printed(80);
        const waiting = cli.start(["wait", "data", "--timeout", "1h"], { stderr });
        await eventually(() => expect(stderr.text).toContain("waiting for titles (1)"));
        expect(stderr.text).not.toContain("no worker runs");
        release();
        expect(await waiting.outcome).toMatchObject({ code: 0 });
        await worker.stop();
      },
      { observers: [titles] },
    );
    expect((await cli.run(["pending", "data", "--json"])).documents).toEqual([]);
  });

  it("exits with 1 at its time limit, and names the observers with due changes", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "a", "x")), {
      observers: [titles],
    });
    const { code, stdout, stderr } = await cli.run(["wait", "data", "--timeout", "1"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    // Whether a worker has only just started is not known after so short a time.
    expect(stderr).not.toContain("note:");
    expect(stderr).toMatch(
      /error: Changes are still waiting after 1ms: titles \(1\), run by 0 sessions\..*\(TIMEOUT\)/,
    );
  });

  it("ends on a signal", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "a", "x")), {
      observers: [titles],
    });
    const waiting = cli.start(["wait", "data"]);
    const note =
      "note: no worker runs titles (1); start one, or unregister what no program has any more: percolator unregister LOCATION OBSERVER";
    await eventually(() => expect((waiting.stderr as Printed).text).toContain(note));
    waiting.signal("SIGTERM");
    expect(await waiting.outcome).toMatchObject({ code: 143 });
  });

  it.each([1, 2])(
    "goes on if a schedule fires at its look %i for overdue changes, which makes an observer due",
    async (look) => {
      const jobs = schedule("jobs", {
        value: boolean(),
        fire: (tx, { key }) => tx.set(documents.title, key, "fired"),
      });
      const options = { tables: [documents, ...jobs.tables], observers: [titles] };
      await withLibrary(
        cli,
        async (db) => {
          let looks = 0;
          // The command calls `tables` if it looks for overdue changes.
          const firing = new Proxy(db, {
            get(target, name) {
              const value: unknown = Reflect.get(target, name, target);
              if (typeof value !== "function") return value;
              if (name !== "tables") return value.bind(target);
              return async () => {
                if (++looks === look) {
                  await target.transact((tx) => jobs.after(tx, "a", 0, true));
                  await jobs.fireDue(target);
                }
                return await target.tables();
              };
            },
          });
          const { signal } = new AbortController();
          expect(await isIdle(firing, Date.now, signal, signal)).toBe(false);
        },
        options,
      );
    },
  );
});
