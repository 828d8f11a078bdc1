import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { Printed } from "../../../test/support/command-line.js";
import { systemEnvironment } from "../../environment/index.js";
import { Cli } from "../cli.js";
import { reportFailure } from "./failure.js";

async function report(error: unknown) {
  const stderr = new Printed();
  const io = {
    stdin: new PassThrough(),
    stdout: new Printed(),
    stderr,
    cwd: ".",
    environment: systemEnvironment,
    onSignal: () => () => {},
  };
  return { code: await reportFailure(new Cli(io), error), stderr: stderr.text };
}

it("reports a refusal of the operating system in one line", async () => {
  const error = Object.assign(new Error("EACCES: permission denied, open 'x'"), { syscall: "open" });
  expect(await report(error)).toEqual({
    code: 1,
    stderr: "error: EACCES: permission denied, open 'x' (SYSTEM)\n",
  });
});

it("shows the stack of an unexpected error", async () => {
  const { code, stderr } = await report(new TypeError("nothing there"));
  expect(code).toBe(1);
  expect(stderr).toMatch(/^error: nothing there \(INTERNAL\)\nTypeError: nothing there\n +at /);
});
