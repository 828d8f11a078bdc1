import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { nodeArguments } from "../../test/support/built/files.js";
import { builtLibrary } from "../../test/support/built/library.js";
import { CommandLine } from "../../test/support/command-line.js";
import { documents, libraryCommandLine, withLibrary } from "../../test/support/library.js";
import { processVariable } from "./print/io.js";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const { index: library } = builtLibrary();
const children = new Set<ChildProcess>();

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

/** Starts the command line in a separate process. */
function start({ folder }: CommandLine, ...args: string[]) {
  return watch(spawn(process.execPath, nodeArguments(main, args), { cwd: folder, stdio: "pipe" }));
}

/** Starts the command line as the process that `--processes` or `--watch` starts. */
function startAsOneOfSeveral({ folder }: CommandLine, ...args: string[]) {
  return watch(
    spawn(process.execPath, nodeArguments(main, args), {
      cwd: folder,
      env: { ...process.env, [processVariable]: "1" },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    }),
  );
}

function watch(child: ChildProcess) {
  children.add(child);
  const texts = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    texts.stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    texts.stderr += text;
  });
  const ended = once(child, "close").then(([code]) => ({ code: code as number, ...texts }));
  const printed = async (text: string) => {
    while (!texts.stdout.includes(text)) {
      await Promise.race([
        once(child.stdout!, "data"),
        ended.then((end) => Promise.reject(new Error(`it ended: ${JSON.stringify(end)}`))),
      ]);
    }
  };
  return { child, ended, printed };
}

const app = `
import { int, observer, table, text } from ${JSON.stringify(library)};
const documents = table("documents", { title: text(), size: int() });
enum Wait { ForEver }
const sizes = observer("sizes", documents.title, async (tx, { row, value }: { row: string; value: string | undefined }) => {
  if (value === "stuck") {
    console.log("stuck", Wait.ForEver);
    await new Promise(() => {});
  }
  tx.set(documents.size, row, value?.length ?? 0);
});
export default { tables: [documents], observers: [sizes] };
`;

describe("the program", () => {
  it("returns exit codes, and prints all of its output to a pipe", async () => {
    const cli = await libraryCommandLine();
    const long = "x".repeat(3_000_000);
    await withLibrary(cli, (db) => db.transact((tx) => tx.set(documents.title, "long", long)));
    const found = await start(cli, "get", "data", "documents.title", "long").ended;
    expect(found.code).toBe(0);
    expect(found.stdout === `${long}\n`).toBe(true);
    const [missing, usage] = await Promise.all([
      start(cli, "get", "data", "documents.title", "nobody").ended,
      start(cli, "get", "data", "nowhere.title", "a", "--json").ended,
    ]);
    expect(missing).toEqual({ code: 1, stdout: "", stderr: "" });
    expect(usage).toMatchObject({ code: 2, stdout: "" });
    expect(JSON.parse(usage.stderr)).toMatchObject({ error: { code: "SCHEMA" } });
  });

  it("ends when its reader has gone, and reports it in one line", async () => {
    const cli = await libraryCommandLine();
    await withLibrary(cli, (db) =>
      db.transact((tx) => {
        for (let row = 0; row < 20_000; row++) tx.set(documents.title, `row ${row}`, "x".repeat(50));
      }),
    );
    const { child, ended } = start(cli, "scan", "data", "documents.title");
    await once(child.stdout!, "data");
    child.stdout!.destroy();
    expect(await ended).toMatchObject({
      code: 141,
      stderr: expect.stringMatching(/^error: .*closed it\. \(OUTPUT\)\n$/),
    });
  });

  it("works with a TypeScript module until a signal, and drains", async () => {
    const cli = await CommandLine.create();
    await cli.write("app.ts", app);
    const worker = start(cli, "worker", "data", "app.ts");
    await worker.printed("running sizes");
    expect(await cli.run(["set", "data", "documents.title", "a", "12345"])).toMatchObject({ code: 0 });
    expect(await cli.run(["wait", "data", "--timeout", "1m"])).toMatchObject({ code: 0 });
    expect((await cli.run(["get", "data", "documents.size", "a"])).stdout).toBe("5\n");
    worker.child.kill("SIGTERM");
    const { code, stdout, stderr } = await worker.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/stopped after 1 run\n$/);
  });

  it("as one of several processes ends if the process that started it ended during the load", async () => {
    const cli = await CommandLine.create();
    await cli.write("app.ts", app);
    const child = fork(nodeArguments(main)[0]!, ["worker", "data", "app.ts"], {
      cwd: cli.folder,
      env: { ...process.env, [processVariable]: "1" },
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    children.add(child);
    const exited = once(child, "exit");
    // The worker learns that its supervisor has ended only from the closed channel.
    child.disconnect();
    expect(await exited).toEqual([0, null]);
  });

  it("as one of several processes refuses a module whose top-level await never settles", async () => {
    const cli = await CommandLine.create();
    await cli.write("app.mjs", "await new Promise(() => {});");
    const { ended } = startAsOneOfSeveral(cli, "worker", "data", "app.mjs");
    expect(await ended).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("An `await` at its top level never settles."),
    });
  });

  it("ends after a signal although its module is still loading", async () => {
    const cli = await libraryCommandLine();
    const hanging = "console.log('loading'); setInterval(() => {}, 1_000); await new Promise(() => {});";
    await cli.write("app.mjs", hanging);
    const worker = start(cli, "worker", "data", "app.mjs");
    const get = start(cli, "get", "data", "documents.title", "a", "--app", "app.mjs");
    await Promise.all([worker.printed("loading"), get.printed("loading")]);
    worker.child.kill("SIGTERM");
    get.child.kill("SIGTERM");
    expect(await worker.ended).toEqual({ code: 0, stdout: "loading\n", stderr: "" });
    expect(await get.ended).toMatchObject({ code: 143, stderr: expect.stringContaining("ABORTED") });
  });

  it("ends at once after a second signal, and loses nothing", async () => {
    const cli = await CommandLine.create();
    await cli.write("app.ts", app);
    const worker = start(cli, "worker", "data", "app.ts");
    await worker.printed("running sizes");
    await cli.run(["set", "data", "documents.title", "a", "stuck"]);
    await worker.printed("stuck 0");
    worker.child.kill("SIGINT");
    await worker.printed("waiting for 1 run");
    worker.child.kill("SIGINT");
    expect(await worker.ended).toMatchObject({ code: 130, stderr: "" });
    const { documents: pending } = await cli.run(["pending", "data", "--json"]);
    expect(pending).toMatchObject([{ observer: "sizes", row: "a" }]);
    expect(await cli.run(["check", "data"])).toMatchObject({ code: 0 });
  });
});
