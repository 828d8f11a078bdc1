import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { buildEmulator } from "./build.js";
import { findEmulator } from "./find.js";

/** A running Bigtable emulator. It keeps all data in memory. */
export interface Emulator {
  /** `127.0.0.1:PORT`, the value for `BIGTABLE_EMULATOR_HOST`. */
  readonly host: string;
  readonly pid: number;
  /**
   * Sends the emulator a signal: SIGSTOP, SIGCONT or SIGKILL. After SIGSTOP it returns when all
   * threads have stopped. After SIGKILL, {@link stop} does not throw.
   */
  signal(signal: NodeJS.Signals): void;
  /**
   * Stops the emulator and waits until it has ended. Throws if it had ended by itself. A second
   * call does nothing more.
   */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const startMs = 30_000;

/**
 * A script that ends the emulator when its parent ends for any reason, because the standard input
 * is then closed.
 */
const keeper = `
exec 3<&0
"$@" </dev/null 3<&- &
pid=$!
echo "pid $pid"
{ cat >/dev/null; kill -9 $pid; } <&3 2>/dev/null &
wait $pid
`;

/**
 * Starts an emulator on a free port. It uses the program that `PERCOLATOR_BIGTABLE_EMULATOR` names,
 * a program on the PATH or in the Google Cloud SDK, or a program built from Debian's packages. If
 * there is none, throws and says what to install.
 */
export async function startEmulator(): Promise<Emulator> {
  return await startProgram(findEmulator(process.env) ?? (await buildEmulator()));
}

/** Starts the emulator at `path`. */
export async function startProgram(path: string): Promise<Emulator> {
  // With several processors the emulator occasionally loses or repeats a column of a row that
  // changes.
  const child = spawn("sh", ["-c", keeper, "sh", path, "-host", "127.0.0.1", "-port", "0"], {
    env: { ...process.env, GOMAXPROCS: "1" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => undefined);
  const ended = once(child, "exit").then(([code]) => {
    child.stdin.destroy();
    return code as number | null;
  });
  const { pid, host } = await started(child, path);
  return new RunningEmulator(child, pid, host, ended);
}

/**
 * Resolves once the keeper has named the process, and the emulator its address, in whichever order:
 * they write to the same pipe, and the emulator is sometimes the first.
 */
export function started(
  child: ChildProcess,
  path: string,
): Promise<{ readonly pid: number; readonly host: string }> {
  return new Promise((resolve, reject) => {
    let pid: number | undefined;
    let host: string | undefined;
    let said = "";
    const fail = (why: string) => {
      child.stdin?.destroy();
      reject(new Error(`The emulator ${path} ${why}.${said === "" ? "" : ` It said: ${said}`}`));
    };
    const timer = setTimeout(() => fail(`did not start within ${startMs / 1_000} s`), startMs);
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with code ${code}`);
    });
    child.once("error", reject);
    child.stderr!.on("data", (data: Buffer) => {
      if (said.length < 2_000) said += data.toString();
    });
    createInterface({ input: child.stdout! }).on("line", (line) => {
      const named = /^pid (\d+)$/.exec(line)?.[1];
      if (named !== undefined) pid = Number(named);
      host ??= /running on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (pid === undefined || host === undefined) return;
      clearTimeout(timer);
      resolve({ pid, host });
    });
  });
}

class RunningEmulator implements Emulator {
  readonly host: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  #expected = false;
  #running = true;

  constructor(child: ChildProcess, pid: number, host: string, ended: Promise<number | null>) {
    this.host = host;
    this.pid = pid;
    this.#child = child;
    this.#ended = ended;
    child.once("exit", () => {
      this.#running = false;
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (signal === "SIGKILL" || signal === "SIGTERM") this.#expected = true;
    if (this.#kill(signal) && signal === "SIGSTOP") waitUntilStopped(this.pid);
  }

  async stop(): Promise<void> {
    if (this.#expected) {
      await this.#ended;
      return;
    }
    this.#expected = true;
    const ended = !this.#kill("SIGKILL");
    await this.#ended;
    if (ended) {
      const how = `code ${this.#child.exitCode}`;
      throw new Error(`The emulator ended by itself (${how}): what was tested on it proves nothing.`);
    }
  }

  /** Returns whether the emulator was there to receive the signal. */
  #kill(signal: NodeJS.Signals): boolean {
    try {
      return this.#running && process.kill(this.pid, signal);
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/**
 * A process answers requests until the last of its threads has stopped, a moment after the signal
 * was sent. This call blocks the thread, so that a test continues only after the process has
 * stopped.
 */
function waitUntilStopped(pid: number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const isRunning = (thread: string) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The state follows the program's name, which is in brackets.
    return stat[stat.lastIndexOf(")") + 2] !== "T";
  };
  for (let look = 0; look < 10_000 && readdirSync(`/proc/${pid}/task`).some(isRunning); look++) {
    Atomics.wait(sleeper, 0, 0, 1);
  }
}
