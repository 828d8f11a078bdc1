import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { observer } from "../../../observer/index.js";

let cli: CommandLine;

const failing = observer(
  "old",
  documents.title,
  (_, { row }) => {
    if (row !== "c") throw new RangeError("never");
  },
  { attempts: 1 },
);

beforeEach(async () => {
  cli = await libraryCommandLine();
  await withLibrary(
    cli,
    async (db) => {
      await db.transact((tx) => {
        tx.set(documents.title, "a", "Alpha 2");
        tx.set(documents.title, "c", "Gamma");
      });
      await db.drain();
      await db.transact((tx) => tx.set(documents.title, "b", "due"));
    },
    { observers: [failing] },
  );
});

const observers = async () =>
  (await cli.run(["schema", "data", "--json"])).documents.map(({ observers: found }) => found)[0];

describe("unregister", () => {
  it("shows what it would forget, and does it with --yes", async () => {
    const looked = await cli.run(["unregister", "data", "old"]);
    expect(looked.code).toBe(1);
    expect(looked.lines).toEqual([
      "observer old of documents.title, version 1: 1 due and 1 parked changes are forgotten",
      "nothing was changed; to unregister it, give --yes",
    ]);
    expect(await observers()).toHaveLength(1);
    const { code, documents: printed } = await cli.run(["unregister", "data", "old", "--yes", "--json"]);
    expect(code).toBe(0);
    expect(printed[0]).toMatchObject({
      observer: "old",
      table: "documents",
      column: "title",
      version: 1,
      pending: { count: 1, more: false },
      parked: { count: 1, more: false },
      unregistered: true,
    });
    expect(printed[0]?.removed).toBeGreaterThanOrEqual(3);
    expect(await observers()).toEqual([]);
    expect((await cli.run(["pending", "data", "--json"])).documents).toEqual([]);
    expect((await cli.run(["parked", "data", "--json"])).documents).toEqual([]);
    expect((await cli.run(["get", "data", "documents.title", "b"])).lines).toEqual(["due"]);
  });

  it("refuses while a live process runs the observer, and changes nothing", async () => {
    await withLibrary(
      cli,
      async (db) => {
        const worker = db.work();
        await eventually(async () => expect((await db.status()).sessions.size).toBe(1));
        const { code, stderr } = await cli.run(["unregister", "data", "old", "--yes"]);
        expect(code).toBe(1);
        expect(stderr).toMatch(
          /"old" was not unregistered, because live processes run it: .+\. Stop these workers/,
        );
        await worker.stop();
      },
      { observers: [failing] },
    );
    expect(await observers()).toHaveLength(1);
    expect((await cli.run(["unregister", "data", "old", "--yes"])).code).toBe(0);
  });

  it("says which observers there are", async () => {
    expect(await cli.run(["unregister", "data", "new"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('No observer named "new" is registered. Registered: old.'),
    });
    expect(await cli.run(["unregister", "data", "new", "--yes"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("(OBSERVER)"),
    });
  });
});
