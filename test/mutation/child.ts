import { type ChildProcess, spawn } from "node:child_process";

/** How much of a program's output is kept: enough to show how it ended. */
const maxKeptCharacters = 20_000;

export interface Ended {
  readonly code: number | undefined;
  readonly isTimeout: boolean;
  readonly output: string;
}

export interface ChildOptions {
  /** The folder in which the program runs. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

/**
 * Runs a Node program in its own process group, and resolves when it has ended. At its time limit,
 * or when `signal` is aborted, kills the whole group. Rejects with the signal's reason if it was
 * aborted, but never before the program has ended.
 */
export async function runNode(args: readonly string[], options: ChildOptions): Promise<Ended> {
  const { cwd, timeoutMs, signal } = options;
  signal.throwIfAborted();
  const child = spawn("nice", ["-n", "5", process.execPath, ...args], {
    cwd,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, FORCE_COLOR: "0" },
  });
  let output = "";
  let isTimeout = false;
  const keep = (data: Buffer) => {
    output = (output + data.toString()).slice(-maxKeptCharacters);
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const end = () => endGroup(child.pid);
  const timer = setTimeout(() => {
    isTimeout = true;
    end();
  }, timeoutMs);
  signal.addEventListener("abort", end);
  try {
    const code = await exitOf(child);
    signal.throwIfAborted();
    return { code, isTimeout, output };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    end();
  }
}

function exitOf(child: ChildProcess): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => resolve(code ?? undefined));
  });
}

/** Ends a process and its child processes. */
function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
