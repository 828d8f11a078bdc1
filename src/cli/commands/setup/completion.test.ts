import { execFileSync } from "node:child_process";
import { beforeEach, describe, expect, it } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { libraryCommandLine } from "../../../../test/support/library.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const scriptFor = async (shell: string) => {
  const { code, stdout } = await cli.run(["completion", shell]);
  expect(code).toBe(0);
  return stdout;
};

/** Returns what bash offers for the last of the words. */
function offered(script: string, ...words: string[]): readonly string[] {
  // A substitute for the program: the completion scripts call `percolator` to list tables.
  const percolator =
    'percolator() { [ "$2" = --targets ] && printf "%s\\n" documents documents.title visits; }';
  const list = words.map((word) => `'${word}'`).join(" ");
  const program = `${percolator}\n${script}\nCOMP_WORDS=(percolator ${list}); COMP_CWORD=${words.length}; _percolator; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync("bash", ["-c", program], { cwd: cli.folder, encoding: "utf8" })
    .split("\n")
    .slice(0, -1);
}

describe("completion", () => {
  it("completes commands, options, tables and files in bash", async () => {
    const script = await scriptFor("bash");
    expect(offered(script, "in")).toEqual(["init", "inspect"]);
    expect(offered(script, "scan", "data", "documents", "--re")).toEqual(["--reverse"]);
    expect(offered(script, "scan", "data", "doc")).toEqual(["documents", "documents.title"]);
    expect(offered(script, "scan", "da")).toEqual(["data"]);
    expect(offered(script, "import", "data", "da")).toEqual(["data"]);
    expect(offered(script, "completion", "z")).toEqual(["zsh"]);
    expect(offered(script, "help", "doc")).toEqual(["doctor"]);
  });

  it.each(["bash", "zsh", "fish"])("names every command and option in %s", async (shell) => {
    const script = await scriptFor(shell);
    const { stdout } = await cli.run(["--help"]);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) .*(?:<location>|\[shell\])/gm)].map(
      (match) => match[1]!,
    );
    expect(commands.length).toBeGreaterThan(20);
    for (const command of commands) expect(script).toContain(command);
    expect(script).toContain(shell === "fish" ? "-l drain-deadline" : "--drain-deadline");
    expect(script.split("\n").every((line) => !line.includes("undefined"))).toBe(true);
  });

  it("completes the tables and columns of a folder", async () => {
    const { code, lines } = await cli.run(["completion", "--targets", "data"]);
    expect(code).toBe(0);
    expect(lines).toEqual(expect.arrayContaining(["documents", "documents.title", "visits.seconds"]));
    expect(await cli.run(["completion", "--targets", "bigtable://p/i"])).toMatchObject({
      code: 0,
      stdout: "",
    });
    expect(await cli.run(["completion", "--targets", "nowhere"])).toMatchObject({ code: 1, stdout: "" });
  });

  it("refuses an unknown shell", async () => {
    expect(await cli.run(["completion", "tcsh"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("bash, zsh, fish"),
    });
    expect(await cli.run(["completion"])).toMatchObject({ code: 2 });
  });
});
