import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { CommandLine } from "../../../test/support/command-line.js";
import { commandLines } from "../../../test/support/command-lines.js";
import { documents, libraryCommandLine, withLibrary } from "../../../test/support/library.js";
import { open } from "../../database/index.js";
import { observer } from "../../observer/index.js";

/*
 * Runs each command as a process whose output is a full device, or a pipe without a reader. If
 * output was lost, the command must report the loss in one line, and must not return 0.
 */

const main = fileURLToPath(new URL("../main.ts", import.meta.url));
const tsx = import.meta.resolve("tsx");
const schema = JSON.stringify(fileURLToPath(new URL("../../schema/index.ts", import.meta.url)));
const observers = JSON.stringify(fileURLToPath(new URL("../../observer/index.ts", import.meta.url)));

const app = `
import { observer } from ${observers};
import { text, int, table } from ${schema};
const documents = table("documents", { title: text(), size: int() });
export default { tables: [documents], observers: [observer("sizes", documents.title, () => undefined)] };
`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a shell line in which `percolator` is this program. */
function shell({ folder }: CommandLine, line: string): Promise<Ended> {
  const program = `percolator() { "${process.execPath}" --import "${tsx}" "${main}" "$@"; }`;
  return new Promise((resolve) => {
    execFile(
      "bash",
      ["-c", `${program}\n${line}`],
      { cwd: folder, timeout: 100_000 },
      (error, stdout, stderr) => {
        resolve({
          code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1,
          stdout,
          stderr,
        });
      },
    );
  });
}

/** Opens file descriptor 3 as a pipe whose reader is gone. */
const brokenPipe = "exec 3> >(exec true); wait $!";

let cli: CommandLine;

async function make(): Promise<void> {
  cli = await libraryCommandLine();
  await cli.write("app.mjs", app);
  await withLibrary(
    cli,
    async (db) => {
      await db.transact((tx) => tx.set(documents.title, "due", "x"));
    },
    { observers: [observer("sizes", documents.title, () => undefined)] },
  );
  await cli.run(["export", "data", "copy.jsonl"]);
  await (await open(join(cli.folder, "quiet"))).close();
}

const oneLine = /^error: Not all output reached the standard output: [^\n]+\. \(OUTPUT\)\n$/;

describe.runIf(existsSync("/dev/full"))("lost output", () => {
  it.each(Object.entries(commandLines))("%s", async (_, line) => {
    await make();
    // Some commands print notes before the error. This function removes them.
    const withoutNotes = ({ code, stderr }: Ended) => ({ code, stderr: stderr.replace(/^note: .*\n/gm, "") });
    const onFull = withoutNotes(await shell(cli, `percolator ${line} > /dev/full`));
    expect(onFull).toEqual({ code: 4, stderr: expect.stringMatching(oneLine) });
    // A compaction made this folder the first time.
    const again = `${brokenPipe}; rm -rf small; percolator ${line} >&3`;
    const onPipe = withoutNotes(await shell(cli, again));
    // An endless command has printed what its reader wanted.
    const expected = line === commandLines.watch ? "" : expect.stringMatching(oneLine);
    expect(onPipe).toEqual({ code: 141, stderr: expected });
  });

  it("on both streams shows in the exit code", async () => {
    await make();
    for (const line of ["scan data documents", "export data", "--help"]) {
      const nowhere = await shell(cli, `percolator ${line} > /dev/full 2> /dev/full`);
      expect(nowhere).toEqual({ code: 4, stdout: "", stderr: "" });
    }
  });

  it.each([
    ["get data ledger.total all", 4, 141],
    ["get data nowhere.title a", 2, 2],
    ["--nonsense", 2, 2],
    ["get data documents.title a", 0, 0],
  ])("on the error stream: %s", async (line, full, closed) => {
    await make();
    expect((await shell(cli, `percolator ${line} 2> /dev/full`)).code).toBe(full);
    expect((await shell(cli, `${brokenPipe}; percolator ${line} 2>&3`)).code).toBe(closed);
  });

  it("of a long scan and of an export whose reader takes the first line", async () => {
    await make();
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        for (let row = 0; row < 20_000; row++) tx.set(documents.title, `row ${row}`, "x".repeat(50));
      }),
    );
    for (const line of [
      "scan data documents",
      "export data",
      "export data --gzip",
      "scan data documents --json",
    ]) {
      const { stderr } = await shell(
        cli,
        `percolator ${line} | head -c 10 > /dev/null; echo "\${PIPESTATUS[0]}" >&2`,
      );
      expect(stderr.trimEnd().split("\n").at(-1)).toBe("141");
      expect(stderr).not.toMatch(/^ +at /m);
    }
  });
});
