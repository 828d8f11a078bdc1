import { beforeEach, describe, expect, it } from "vitest";
import { type CommandLine, eventually } from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";
import { StepHooks, stopsBefore } from "../../../testing/index.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

/** Leaves the locks of a transaction that stops before its commit point. */
async function leaveLocks(lockTtlMs = 60_000): Promise<void> {
  const hooks = new StepHooks();
  hooks.once("commit-timestamp", stopsBefore);
  await withLibrary(
    cli,
    async (db) => {
      const abandoned = db.transact((tx) => {
        tx.set(documents.title, "a", "Alpha 2");
        tx.set(documents.title, "b", "Beta 2");
      });
      abandoned.catch(() => undefined);
      await eventually(() => expect(hooks.count("commit-timestamp")).toBe(1));
    },
    { commit: "two-phase", hooks, lockTtlMs },
  );
}

describe("locks", () => {
  it("lists the current locks", async () => {
    await leaveLocks();
    const { code, documents: locks } = await cli.run(["locks", "data", "--json"]);
    expect(code).toBe(0);
    expect(locks.map(({ cell, primary, isPrimary }) => ({ cell, primary, isPrimary }))).toEqual([
      { cell: "documents/a/title", primary: "documents/a/title", isPrimary: true },
      { cell: "documents/b/title", primary: "documents/a/title", isPrimary: false },
    ]);
    const { lines, stderr } = await cli.run(["locks", "data"]);
    expect(lines[0]).toBe("documents/a/title");
    expect(lines[1]).toMatch(/^ {2}put of the transaction at \d+, session /);
    expect(lines[3]).toBe("  primary: this cell");
    expect(lines[7]).toBe("  primary: documents/a/title");
    expect(stderr).toBe("note: 2 locks\n");
    expect((await cli.run(["locks", "data", "--limit", "1", "--json"])).documents).toHaveLength(1);
  });

  it("resolves locks whose owners are dead", async () => {
    await leaveLocks(1);
    const { code, documents: locks } = await cli.run(["locks", "data", "--resolve", "--json"]);
    expect(code).toBe(0);
    expect(locks.map(({ cell, resolved }) => ({ cell, resolved }))).toEqual([
      { cell: "documents/a/title", resolved: true },
      { cell: "documents/b/title", resolved: true },
    ]);
    expect((await cli.run(["locks", "data", "--json"])).documents).toEqual([]);
    expect((await cli.run(["get", "data", "documents.title", "a"])).stdout).toBe("Alpha\n");
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 0 });
  });

  it("does not resolve locks whose owners live", async () => {
    const hooks = new StepHooks();
    const pause = hooks.pauseBefore("commit-timestamp");
    await withLibrary(
      cli,
      async (db) => {
        const committed = db.transact((tx) => {
          tx.set(documents.title, "a", "Alpha 2");
          tx.set(documents.title, "b", "Beta 2");
        });
        await pause.reached;
        const { lines, stderr } = await cli.run(["locks", "data", "--resolve"]);
        expect(lines[4]).toBe("  left alone: its owner is alive");
        expect(stderr).toBe("note: 2 locks, 0 resolved\n");
        pause.resume();
        await committed;
      },
      { commit: "two-phase", hooks, lockTtlMs: 600_000 },
    );
    expect((await cli.run(["get", "data", "documents.title", "b"])).stdout).toBe("Beta 2\n");
  });

  it("lists nothing if there are no locks", async () => {
    expect(await cli.run(["locks", "data"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "note: no locks\n",
    });
    expect(await cli.run(["locks", "data", "--json"])).toMatchObject({ code: 0, stdout: "", stderr: "" });
  });
});
