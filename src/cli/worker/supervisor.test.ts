import { PassThrough, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { Printed } from "../../../test/support/command-line.js";
import { TestClock } from "../../testing/index.js";
import { Cli } from "../cli.js";
import type { EndSignal, Io } from "../print/io.js";
import { Supervisor } from "./supervisor.js";
import { noRuns } from "./worker-log.js";
import { linesOf, type ProcessEnd, type WorkerProcess } from "./worker-process.js";

/** A process that a test controls. */
class TestWorker implements WorkerProcess {
  readonly number: number;
  readonly #out = new PassThrough();
  readonly #err = new PassThrough();
  readonly output = linesOf(this.#out);
  readonly errors = linesOf(this.#err);
  readonly signals: string[] = [];
  readonly ended: Promise<ProcessEnd>;
  runs = noRuns;
  isObsolete = false;
  hasStarted = false;
  #end!: (end: ProcessEnd) => void;
  isOver = false;

  constructor(number: number) {
    this.number = number;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  say(text: string, to: "out" | "err" = "out"): void {
    (to === "out" ? this.#out : this.#err).write(text);
  }

  end(code: number | undefined, signal?: string): void {
    this.isOver = true;
    this.#out.end();
    this.#err.end();
    this.#end({ code, signal });
  }

  ask(): Promise<object> {
    return Promise.reject(new Error("nobody asks"));
  }

  kill(signal: EndSignal | "SIGKILL"): void {
    this.signals.push(signal);
  }
}

function start(processes: number, options: { json?: boolean; killAfterMs?: number; created?: string } = {}) {
  const clock = new TestClock();
  const [stdout, stderr] = [new Printed(), new Printed()];
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    cwd: ".",
    environment: clock.process(),
    onSignal: () => () => undefined,
  };
  const cli = new Cli(io);
  cli.json = options.json ?? false;
  const workers: TestWorker[] = [];
  const supervisor = new Supervisor({
    cli,
    processes,
    killAfterMs: options.killAfterMs ?? 40_000,
    created: options.created,
    start: (number) => {
      const worker = new TestWorker(number);
      workers.push(worker);
      return worker;
    },
  });
  const outcome = supervisor.run().then(
    () => "ended",
    (error: Error & { code?: string }) => `${error.code}: ${error.message}`,
  );
  const living = () => workers.filter((worker) => !worker.isOver);
  const lines = (from = stdout) => from.text.split("\n").slice(0, -1);
  return { clock, cli, workers, living, outcome, stdout, stderr, lines };
}

describe("several processes of a worker", () => {
  it("get its signals, end with it, and have their counts added up", async () => {
    const { clock, cli, workers, outcome, lines } = start(3, { json: true });
    await clock.settle();
    expect(workers.map(({ number }) => number)).toEqual([1, 2, 3]);
    cli.end("SIGINT");
    await clock.settle();
    expect(workers.map(({ signals }) => signals)).toEqual([["SIGINT"], ["SIGINT"], ["SIGINT"]]);
    for (const worker of workers) {
      worker.runs = { ...noRuns, committed: worker.number, failed: 1 };
      worker.end(0);
    }
    expect(await clock.until(outcome)).toBe("ended");
    expect(cli.exitCode).toBe(0);
    const documents = lines().map((line) => JSON.parse(line) as object);
    expect(documents).toEqual([
      { event: "supervising", time: expect.any(String), processes: 3 },
      {
        event: "stopped",
        time: expect.any(String),
        processes: 3,
        restarts: 0,
        runs: { ...noRuns, committed: 6, failed: 3 },
      },
    ]);
  });

  it("are told to begin with a database that was just created", async () => {
    const { clock, cli, workers, outcome, lines } = start(1, { created: "/data" });
    await clock.settle();
    expect(lines()[0]).toContain("starting 1 process; created the database, since there was none at /data");
    cli.end("SIGTERM");
    await clock.settle();
    workers[0]!.end(0);
    expect(await clock.until(outcome)).toBe("ended");
  });

  it("all end if one may run nothing any more; one whose program exits with the same code is restarted", async () => {
    const { clock, cli, workers, living, outcome } = start(2);
    await clock.settle();
    workers[0]!.end(3);
    await clock.advance(60_000);
    expect(workers.map(({ number }) => number)).toEqual([1, 2, 1]);
    expect(living()).toHaveLength(2);
    workers[2]!.isObsolete = true;
    workers[2]!.end(3);
    await clock.settle();
    expect(workers[1]!.signals).toEqual(["SIGTERM"]);
    workers[1]!.end(0);
    expect(await clock.until(outcome)).toBe("ended");
    expect(cli.exitCode).toBe(3);
  });

  it("have their output printed with their numbers, as lines or as documents", async () => {
    const text = start(2);
    await text.clock.settle();
    text.workers[0]!.say("one\ntwo ");
    text.workers[1]!.say("oops\n", "err");
    text.workers[0]!.say("parts\n");
    await text.clock.settle();
    expect(text.lines().slice(1)).toEqual(["[1] one", "[1] two parts"]);
    expect(text.lines(text.stderr)).toEqual(["[2] oops"]);
    const json = start(1, { json: true });
    await json.clock.settle();
    json.workers[0]!.say('{"event":"started","observers":["a"]}\nplain\n');
    json.workers[0]!.say('{"error":{"code":"STORE"}}\n', "err");
    await json.clock.settle();
    expect(json.lines().map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ event: "supervising" }),
      { event: "started", observers: ["a"], process: 1 },
      { event: "output", time: expect.any(String), text: "plain", process: 1 },
    ]);
    expect(json.lines(json.stderr)).toEqual(['{"error":{"code":"STORE"},"process":1}']);
    for (const { cli, clock, workers, outcome } of [text, json]) {
      cli.end("SIGTERM");
      for (const worker of workers) worker.end(0);
      await clock.until(outcome);
    }
  });

  it("are restarted if they die, after a growing wait; quick deaths are forgotten after a long life", async () => {
    const { clock, cli, workers, living, outcome, lines } = start(2, { json: true });
    await clock.settle();
    const waits = () =>
      lines()
        .map((line) => JSON.parse(line) as { event: string; process: number; restartInMs: number })
        .filter(({ event }) => event === "exited");
    const dieSecond = async () => {
      living()
        .find(({ number }) => number === 2)!
        .end(undefined, "SIGSEGV");
      await clock.settle();
      await clock.advance(10_000);
    };
    for (let death = 1; death <= 4; death++) await dieSecond();
    const first = waits().map(({ restartInMs }) => restartInMs);
    expect(first).toHaveLength(4);
    expect(first[3]).toBeGreaterThan(first[0]!);
    expect(waits().every((each) => each.process === 2)).toBe(true);
    await clock.advance(60_000);
    await dieSecond();
    expect(waits().at(-1)!.restartInMs).toBeLessThanOrEqual(100);
    expect(workers).toHaveLength(7);
    expect(living()).toHaveLength(2);
    cli.end("SIGTERM");
    await clock.settle();
    for (const worker of living()) worker.end(0);
    expect(await clock.until(outcome)).toBe("ended");
    expect(JSON.parse(lines().at(-1)!)).toMatchObject({ event: "stopped", restarts: 5 });
  });

  it("are all stopped if one keeps dying at once", async () => {
    const { clock, workers, living, outcome } = start(2);
    await clock.settle();
    const other = workers[0]!;
    // One that has lived for a minute did not die at once.
    await clock.advance(60_000);
    living().at(-1)!.end(1);
    await clock.settle();
    await clock.advance(10_000);
    for (let death = 1; death < 12; death++) {
      living().at(-1)!.end(1);
      await clock.settle();
      await clock.advance(10_000);
    }
    expect(other.signals).toEqual([]);
    living().at(-1)!.end(1);
    await clock.settle();
    expect(other.signals).toEqual(["SIGTERM"]);
    other.end(0);
    const error = await clock.until(outcome);
    expect(error).toContain("OBSERVER: Process 2 of the worker died 12 times");
    expect(error).toContain("exit code 1");
  });

  it("are not restarted after an error in the arguments", async () => {
    const { clock, workers, outcome } = start(1);
    await clock.settle();
    workers[0]!.say("error: no such module\n", "err");
    workers[0]!.end(2);
    expect(await clock.until(outcome)).toContain("INVALID_ARGUMENT: The command line of the worker is wrong");
    expect(workers).toHaveLength(1);
  });

  it("are restarted after the same exit code once one of them has worked", async () => {
    const { clock, cli, workers, living, outcome } = start(2);
    await clock.settle();
    workers[1]!.hasStarted = true;
    workers[0]!.end(2);
    await clock.advance(60_000);
    expect(workers[1]!.signals).toEqual([]);
    expect(living().map(({ number }) => number)).toEqual([2, 1]);
    // The process that had worked may itself have ended.
    workers[1]!.end(2);
    await clock.advance(60_000);
    expect(living().map(({ number }) => number)).toEqual([1, 2]);
    cli.end("SIGTERM");
    await clock.settle();
    for (const worker of living()) worker.end(0);
    expect(await clock.until(outcome)).toBe("ended");
  });

  it("are killed if they do not end, and the exit code is 1 if one failed", async () => {
    const { clock, cli, workers, outcome } = start(2, { killAfterMs: 40_000 });
    await clock.settle();
    cli.end("SIGTERM");
    await clock.settle();
    workers[0]!.end(0);
    await clock.advance(39_000);
    expect(workers[1]!.signals).toEqual(["SIGTERM"]);
    await clock.advance(2_000);
    expect(workers[1]!.signals).toEqual(["SIGTERM", "SIGKILL"]);
    workers[1]!.end(undefined, "SIGKILL");
    expect(await clock.until(outcome)).toBe("ended");
    expect(cli.exitCode).toBe(1);
  });

  it("end in order if the signal itself ends one that was still starting", async () => {
    const { clock, cli, workers, outcome } = start(2);
    await clock.settle();
    cli.end("SIGTERM");
    await clock.settle();
    workers[0]!.end(0);
    workers[1]!.end(undefined, "SIGTERM");
    expect(await clock.until(outcome)).toBe("ended");
    expect(cli.exitCode).toBe(0);
  });

  it("are not restarted after a signal", async () => {
    const { clock, cli, workers, outcome } = start(1);
    await clock.settle();
    workers[0]!.end(1);
    await clock.settle();
    cli.end("SIGTERM");
    expect(await clock.until(outcome)).toBe("ended");
    expect(workers).toHaveLength(1);
  });
});

describe("lines", () => {
  it("are divided if they are very long, and end with the stream", async () => {
    const stream = Readable.from(["x".repeat(600_000), "x".repeat(600_000), `${"x".repeat(600_000)}\nlast`]);
    const lines: string[] = [];
    for await (const line of linesOf(stream)) lines.push(line);
    expect(lines.map((line) => line.length)).toEqual([2 ** 20, 1_800_000 - 2 ** 20, 4]);
  });
});
