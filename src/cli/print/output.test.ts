import { PassThrough, Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Printed } from "../../../test/support/command-line.js";
import { systemEnvironment } from "../../environment/index.js";
import { AbortedError, InvalidArgumentError } from "../../errors/index.js";
import { Cli } from "../cli.js";
import { outputExitCode, reportFailure } from "./failure.js";
import { Output, OutputError } from "./output.js";

/** Returns a device that fails with this error code. */
const broken = (code: string) =>
  new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) });

async function failureOf(output: Output): Promise<OutputError> {
  const failure = await output.line("text").then(
    () => output.flush().catch((error: unknown) => error),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(OutputError);
  return failure as OutputError;
}

describe("lost output", () => {
  it("is classified: a reader that has gone, a closed stream, a failing device", async () => {
    const destroyed = new PassThrough();
    destroyed.on("error", () => undefined).destroy();
    const codes = [];
    for (const stream of [broken("EPIPE"), destroyed, broken("ENOSPC"), broken("EIO")]) {
      codes.push(outputExitCode(await failureOf(new Output("standard output", stream))));
    }
    expect(codes).toEqual([141, 141, 4, 4]);
  });

  it("ends the command with its error, whatever the command itself returns", async () => {
    const stderr = new Printed();
    const cli = new Cli({
      stdin: new PassThrough(),
      stdout: broken("ENOSPC"),
      stderr,
      cwd: ".",
      environment: systemEnvironment,
      onSignal: () => () => {},
    });
    expect(cli.signal.aborted).toBe(false);
    await failureOf(cli.out);
    expect(cli.signal.aborted).toBe(true);
    expect(await reportFailure(cli, new AbortedError("The scan was aborted."))).toBe(4);
    expect(stderr.text).toBe("error: Not all output reached the standard output: ENOSPC. (OUTPUT)\n");
  });

  it("may be reported once more by the stream after its release; a stream without a failure is not touched", async () => {
    const stream = broken("EPIPE");
    const output = new Output("standard output", stream);
    await failureOf(output);
    output.release();
    expect(() => stream.emit("error", new Error("again"))).not.toThrow();
    const sound = new PassThrough();
    const other = new Output("standard output", sound);
    await other.line("text");
    other.release();
    expect(sound.listenerCount("error")).toBe(0);
  });
});

const hostile = "\u001b]0;x\u0007\r\u009b2J\tb\nc é";
const shown = "\\u001b]0;x\\u0007\\r\\u009b2J\tb\nc é";

describe("characters that command a terminal", () => {
  it("are escaped in lines, errors and notes, and in JSON without a change of its meaning", async () => {
    const [stdout, stderr] = [new Printed(), new Printed()];
    const cli = new Cli({
      stdin: new PassThrough(),
      stdout,
      stderr,
      cwd: ".",
      environment: systemEnvironment,
      onSignal: () => () => {},
    });
    await cli.print({}, () => [hostile]);
    await cli.note(hostile);
    await reportFailure(cli, new InvalidArgumentError(hostile));
    expect(stdout.text).toBe(`${shown}\n`);
    expect(stderr.text).toBe(`note: ${shown}\nerror: ${shown} (INVALID_ARGUMENT)\n`);
    const json = new Printed();
    await new Output("standard output", json).json({ a: hostile });
    expect(json.text).not.toContain("\u009b");
    expect(JSON.parse(json.text)).toEqual({ a: hostile });
  });
});
