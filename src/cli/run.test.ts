import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { CommandLine, Printed } from "../../test/support/command-line.js";
import { commandTree } from "../../test/support/command-tree.js";
import { documents, libraryCommandLine, withLibrary } from "../../test/support/library.js";

/** A stream whose reader takes a number of lines and then closes. */
class ClosedAfter extends Writable {
  taken = 0;
  readonly #lines: number;

  constructor(lines: number) {
    super({ decodeStrings: false });
    this.#lines = lines;
  }

  override _write(_chunk: string, _encoding: string, done: (error?: Error | null) => void): void {
    if (this.taken >= this.#lines) done(Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
    else {
      this.taken++;
      done();
    }
  }
}

/** A stream on a full device. */
class Full extends Writable {
  override _write(_chunk: unknown, _encoding: string, done: (error?: Error | null) => void): void {
    done(Object.assign(new Error("no space left on device"), { code: "ENOSPC" }));
  }
}

const commandNames = commandTree().commands.map((command) => command.name());

describe("help", () => {
  it("lists every command", async () => {
    const cli = await CommandLine.create();
    const { code, stdout, stderr } = await cli.run(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const name of commandNames) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect(stdout).toContain("Exit codes:");
  });

  it.each(commandNames)(
    "of %s has examples, explains the output of --json, and fits the width",
    async (name) => {
      const cli = await CommandLine.create();
      const { code, stdout } = await cli.run([name, "--help"]);
      expect(code).toBe(0);
      expect(stdout).toContain(`$ percolator ${name} `);
      expect(stdout).toContain("--json");
      expect(stdout).toMatch(/With --json:\n {2}\S/);
      for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
      expect((await cli.run(["help", name])).stdout).toBe(stdout);
    },
  );

  it.each<[string[]]>([[[]], [["--"]]])(
    "is printed on the error stream if no command is given: %j",
    async (args) => {
      const { code, stdout, stderr } = await (await CommandLine.create()).run(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain("Usage: percolator");
      expect(stderr).not.toContain("error:");
    },
  );

  it("prints the version", async () => {
    const { code, stdout } = await (await CommandLine.create()).run(["--version"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("usage errors", () => {
  it.each([
    [["gett", "data"], "unknown command 'gett'"],
    [["get", "data", "documents.title"], "missing required argument 'row'"],
    [["get", "data", "documents.title", "a", "b"], "too many arguments"],
    [["get", "data", "documents.title", "a", "--jsn"], "unknown option '--jsn'"],
    [["scan", "data", "documents", "--limit"], "argument missing"],
    [["get", "memory:", "documents.title", "a"], "exists only in the program that opened it"],
    [["get", "s3://bucket", "documents.title", "a"], '"s3:"'],
    [["get", "file://host/data", "documents.title", "a"], "names no folder of this machine"],
    [["get", "", "documents.title", "a"], "The location is empty"],
    [["restore", "", "copy"], "The place of the backups is empty"],
  ])("exit with 2: %j", async (args, message) => {
    const cli = await libraryCommandLine();
    const plain = await cli.run(args);
    expect(plain).toMatchObject({ code: 2, stdout: "" });
    expect(plain.stderr).toMatch(/^error: .* \(INVALID_ARGUMENT\)\n$/);
    expect(plain.stderr).toContain(message);
    const { code, stderr } = await cli.run([...args, "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(stderr)).toEqual({ error: { code: "INVALID_ARGUMENT", message: expect.any(String) } });
  });

  it("are printed for people if --json is a value", async () => {
    const cli = await libraryCommandLine();
    const { code, stderr } = await cli.run(["set", "data", "documents.size", "a", "--", "--json"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/^error: .*\(INVALID_VALUE\)\n$/);
  });
});

describe("a location", () => {
  it.each(["get documents.title a", "scan documents", "check", "gc", "locks", "status", "pending"])(
    "without a database is not created: %s",
    async (text) => {
      const [name, ...rest] = text.split(" ");
      const cli = await CommandLine.create();
      const { code, stdout, stderr } = await cli.run([name!, "data", ...rest]);
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).toMatch(/^error: There is no database in .*\(STORE\)\n$/);
      expect(existsSync(join(cli.folder, "data"))).toBe(false);
    },
  );

  it("that is an empty folder stays empty", async () => {
    const cli = await CommandLine.create();
    await mkdir(join(cli.folder, "data"));
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 1 });
    expect(existsSync(join(cli.folder, "data", "data.mdb"))).toBe(false);
  });

  it("with other files is refused", async () => {
    const cli = await CommandLine.create();
    await cli.write("notes.txt", "mine");
    const { code, stderr } = await cli.run(["check", "."]);
    expect(code).toBe(1);
    expect(stderr).toContain("(STORE_DAMAGED)");
  });

  it("that is damaged is refused", async () => {
    const cli = await libraryCommandLine();
    await writeFile(join(cli.folder, "data", "data.mdb"), Buffer.alloc(8_192, "x"));
    const { code, stderr } = await cli.run(["get", "data", "documents.title", "a", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "STORE_DAMAGED" } });
  });

  it("may be a file: location", async () => {
    const cli = await libraryCommandLine();
    for (const location of ["file:data", "file:./data", `file://${join(cli.folder, "data")}`]) {
      expect((await cli.run(["get", location, "documents.title", "a"])).stdout).toBe("Alpha\n");
    }
  });
});

describe("the output", () => {
  it("ends a command when its reader has gone, with one line about it", async () => {
    const cli = await libraryCommandLine();
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        for (let row = 0; row < 5_000; row++) tx.set(documents.size, `row ${row}`, row);
      }),
    );
    const stdout = new ClosedAfter(3);
    expect(await cli.run(["scan", "data", "documents.size"], { stdout })).toMatchObject({
      code: 141,
      stderr: "error: Not all output reached the standard output: its reader closed it. (OUTPUT)\n",
    });
    expect(stdout.taken).toBe(3);
  });

  it("to a full device is an error", async () => {
    const cli = await libraryCommandLine();
    const { code, stderr } = await cli.run(["get", "data", "documents.title", "a"], { stdout: new Full() });
    expect(code).toBe(4);
    expect(stderr).toBe(
      "error: Not all output reached the standard output: no space left on device. (OUTPUT)\n",
    );
  });

  it("lost on the error stream shows in the exit code, unless another error has priority", async () => {
    const cli = await libraryCommandLine();
    const run = (...args: string[]) => cli.run(args, { stderr: new Full() });
    const noted = await run("get", "data", "ledger.total", "all");
    expect(noted).toMatchObject({ code: 4, stdout: expect.stringMatching(/^\S+\n$/) });
    expect(await run("get", "data", "documents.title", "a")).toMatchObject({ code: 0 });
    expect(await run("get", "data", "nowhere.title", "a")).toMatchObject({ code: 2 });
  });
});

describe("a signal", () => {
  it("ends a command", async () => {
    const cli = await libraryCommandLine();
    const stdout = new Printed();
    const command = cli.start(["scan", "data", "documents", "--json"], { stdout });
    command.signal("SIGINT");
    expect(await command.outcome).toMatchObject({ code: 130 });
    expect(JSON.parse((await command.outcome).stderr)).toMatchObject({ error: { code: "ABORTED" } });
  });

  it("given twice ends it at once", async () => {
    const cli = await libraryCommandLine();
    const never = new Writable({ write: () => undefined, highWaterMark: 1 });
    const command = cli.start(["get", "data", "documents.title", "a"], { stdout: never });
    command.signal("SIGTERM");
    command.signal("SIGTERM");
    expect(await command.outcome).toMatchObject({ code: 143 });
  });
});
