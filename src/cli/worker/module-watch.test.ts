import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { expect, it } from "vitest";
import { builtLibrary } from "../../../test/support/built/library.js";
import { CommandLine, Printed } from "../../../test/support/command-line.js";
import { ProgramProcess } from "../../../test/support/program-process.js";
import { TestClock } from "../../testing/index.js";
import { Cli } from "../cli.js";
import { ModuleFiles } from "./module-files.js";
import { ModuleWatch } from "./module-watch.js";
import { noRuns } from "./worker-log.js";
import { linesOf, type ProcessEnd, type WorkerProcess } from "./worker-process.js";

it("finds the files of a module by the text of its imports", async () => {
  const { folder } = await CommandLine.create();
  await mkdir(join(folder, "parts"));
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  await write(
    "app.ts",
    'import { a } from "./a.js";\nimport type { B } from "./b";\nexport * from "./parts";\nimport "percolatordb";\nconst c = await import("./gone.js");\n(',
  );
  await write("a.ts", 'const d = require("./d.json"); import "./app.ts";');
  await write("b.mts", "");
  await write("d.json", "{}");
  await write("parts/index.ts", "import x from '../a';");
  const names = (files: ReadonlyMap<string, string>) =>
    [...files.keys()].map((file) => file.slice(folder.length + 1));
  const module = new ModuleFiles(join(folder, "app.ts"));
  const before = module.find();
  expect(names(before).sort()).toEqual(["a.ts", "app.ts", "b.mts", "d.json", "gone.js", "parts/index.ts"]);
  expect(before.get(join(folder, "gone.js"))).toBe("missing");
  await write("d.json", "{ }");
  expect(module.find().get(join(folder, "d.json"))).not.toBe(before.get(join(folder, "d.json")));
  await rm(join(folder, "d.json"));
  expect(module.find().get(join(folder, "d.json"))).toBe("missing");
});

it("restarts the worker when an imported file changes, and waits while the module is broken", async () => {
  const cli = await CommandLine.create();
  const declaring = (name: string) => `export const name: string = ${JSON.stringify(name)};\n`;
  await cli.write("name.ts", declaring("first"));
  await cli.write(
    "app.ts",
    `import { name } from "./name.js";
     import { observer, table, text } from ${JSON.stringify(builtLibrary().index)};
     const t = table("t", { a: text() });
     console.error("loaded", name as string);
     export default { tables: [t], observers: [observer("watched", t.a, () => undefined)] };`,
  );
  const args = ["worker", join(cli.folder, "data"), join(cli.folder, "app.ts"), "--watch", "--json"];
  const watching = new ProgramProcess("src/cli/main.ts", args);
  const said = (event: string, from = 0) =>
    watching.said((line) => line.includes(`"event":"${event}"`), from);
  await said("watching");
  await said("started");
  let from = watching.lines.length;
  await cli.write("name.ts", declaring("second"));
  await said("changed", from);
  await said("stopped", from);
  await said("started", from);
  expect(watching.errors).toContain("loaded second");
  from = watching.lines.length;
  await cli.write("name.ts", "export const name = ;\n");
  await said("ended", from);
  expect(watching.errors).toMatch(/could not be loaded/);
  from = watching.lines.length;
  await cli.write("name.ts", declaring("third"));
  await said("started", from);
  expect(watching.errors).toContain("loaded third");
  await watching.terminate();
});

/** Watches `app.ts` with a process that a signal ends. `output` is what the process prints. */
function watching(output: Readable, how: (signal: string) => ProcessEnd) {
  const clock = new TestClock();
  const stdout = new Printed();
  const cli = new Cli({
    stdin: Readable.from([]),
    stdout,
    stderr: new Printed(),
    cwd: ".",
    environment: clock.process(),
    onSignal: () => () => undefined,
  });
  let end: ((how: ProcessEnd) => void) | undefined;
  const process: WorkerProcess = {
    output: linesOf(output),
    errors: linesOf(Readable.from([])),
    ended: new Promise((resolve) => {
      end = resolve;
    }),
    runs: noRuns,
    isObsolete: false,
    hasStarted: false,
    ask: () => Promise.reject(new Error("not asked")),
    kill: (signal) => end!(how(signal)),
  };
  const watch = new ModuleWatch({ cli, module: "app.ts", start: () => process, killAfterMs: 1_000 });
  return { clock, cli, stdout, ended: watch.run() };
}

it("ends in order if the signal itself ends a worker that was still starting", async () => {
  const bySignal = (signal: string) => ({ code: undefined, signal });
  const { clock, cli, stdout, ended } = watching(Readable.from([]), bySignal);
  await clock.settle();
  cli.end("SIGTERM");
  await clock.until(ended);
  expect(stdout.text).toContain("watching app.ts");
  expect(cli.exitCode).toBe(0);
});

it("ends although a child of the ended worker keeps its output open", async () => {
  const { clock, cli, ended } = watching(new PassThrough(), () => ({ code: 0, signal: undefined }));
  await clock.settle();
  cli.end("SIGTERM");
  await clock.until(ended);
});
