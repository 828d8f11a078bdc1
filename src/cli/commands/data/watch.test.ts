import { Writable } from "node:stream";
import { beforeEach, describe, expect, it } from "vitest";
import {
  type CommandLine,
  eventually,
  type Printed,
  type RunningCommand,
} from "../../../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const printed = ({ stdout }: RunningCommand) => (stdout as Printed).text;

/** Writes until the command has printed something: it may not have begun when the first write commits. */
async function writeUntilPrinted(
  running: RunningCommand,
  write: (round: number) => Promise<unknown>,
): Promise<void> {
  let round = 0;
  await eventually(async () => {
    await write(round++);
    expect(printed(running)).not.toBe("");
  });
}

describe("watch", () => {
  it("prints changes as they are committed, until a signal", async () => {
    const running = cli.start(["watch", "data", "documents.title"]);
    await withLibrary(cli, async (db) => {
      await writeUntilPrinted(running, (round) =>
        db.transact((tx) => tx.set(documents.title, "a", `Alpha\n${round}`)),
      );
      await db.transact((tx) => tx.delete(documents.title, "a"));
      await eventually(() => expect(printed(running)).toContain("delete"));
    });
    running.signal("SIGINT");
    const { code, stderr, lines } = await running.outcome;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT[^\t]+Z\tput\ta\ttitle\tAlpha\\n\d+$/);
    expect(lines.at(-1)).toMatch(/^\d{4}-\d\d-\d\dT[^\t]+Z\tdelete\ta\ttitle$/);
  });

  it("prints earlier changes too, as JSON, of a table or of rows with a prefix", async () => {
    await withLibrary(cli, async (db) => {
      await db.transact(
        (tx) => {
          tx.set(documents.title, "watched 1", "Alpha");
          tx.set(documents.anchors.at("b"), "watched 1", "link");
          tx.set(documents.title, "c", "Beta");
        },
        { label: "first" },
      );
      await db.transact((tx) => tx.delete(documents.title, "watched 1"));
    });
    const args = ["watch", "data", "documents", "--prefix", "watched", "--since", "1h", "--json"];
    const running = cli.start(args);
    await eventually(() => expect(printed(running)).toContain("delete"));
    running.signal("SIGTERM");
    const { code, documents: changes } = await running.outcome;
    expect(code).toBe(0);
    expect(changes).toMatchObject([
      { row: "watched 1", column: "anchors", qualifier: "b", kind: "put", value: "link", isLast: false },
      { row: "watched 1", column: "title", kind: "put", value: "Alpha", isLast: true },
      { row: "watched 1", column: "title", kind: "delete", isLast: true },
    ]);
    expect(changes[2]).not.toHaveProperty("value");
    const since = String(changes[0]!.commitTimestamp);
    const rest = cli.start(["watch", "data", "documents", "--prefix", "watched", "--since", since, "--json"]);
    await eventually(() => expect(printed(rest)).toContain("delete"));
    rest.signal("SIGINT");
    expect((await rest.outcome).documents).toEqual([changes[2]]);
  });

  it("ends quietly if its reader is gone", async () => {
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "a", "Alpha")));
    class Gone extends Writable {
      override _write(_chunk: unknown, _encoding: string, done: (error?: Error | null) => void): void {
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" }));
      }
    }
    const args = ["watch", "data", "documents.title", "--since", "1h"];
    const { code, stderr } = await cli.run(args, { stdout: new Gone() });
    expect({ code, stderr }).toEqual({ code: 141, stderr: "" });
  });

  it("refuses a bad target or moment", async () => {
    expect(await cli.run(["watch", "data", "documents.nothing"])).toMatchObject({ code: 2 });
    expect(await cli.run(["watch", "data", "nothing"])).toMatchObject({ code: 2 });
    const bad = await cli.run(["watch", "data", "documents", "--since", "yesterday"]);
    expect(bad).toMatchObject({ code: 2, stdout: "" });
    expect(bad.stderr).toContain("yesterday");
    const future = await cli.run(["watch", "data", "documents", "--since", "9000000000000000"]);
    expect(future.stderr).toContain("not in the future");
  });
});
