import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { familyOf, type Mark, newMark } from "./family.js";

/** How a command ended. */
export interface Ended {
  readonly outcome: "done" | "failed" | "too late" | "cancelled";
  /** Its last output. */
  readonly output: string;
}

export interface RunOptions {
  readonly limitMs: number;
  readonly signal: AbortSignal;
  /** Variables in addition to those of this process. */
  readonly environment?: Readonly<Record<string, string>> | undefined;
  /** Called with each line of output. */
  readonly onLine?: ((line: string) => void) | undefined;
}

const graceMs = 10_000;
const keptCharacters = 4_000;

/**
 * Runs a command until it ends, its time limit is over or it is cancelled. Afterwards none of its
 * processes is left.
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  { limitMs, signal, environment, onLine }: RunOptions,
): Promise<Ended> {
  if (signal.aborted) return { outcome: "cancelled", output: "" };
  const mark = newMark();
  // Its own process group, so that a signal of the terminal reaches only this process. This process
  // then ends the command.
  const child = spawn(command, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment, ...mark.environment },
  });
  const output = listen(child, onLine);
  const exited: Promise<unknown> = once(child, "exit").catch((error: unknown) => error);
  await endsOrIsOver(exited, limitMs, signal);
  const code = child.exitCode;
  const ended = code !== null || child.signalCode !== null || child.pid === undefined;
  await endAll(mark, child, ended);
  await exited;
  if (ended) return { outcome: code === 0 ? "done" : "failed", output: output() };
  return { outcome: signal.aborted ? "cancelled" : "too late", output: output() };
}

/** Asks the command's remaining processes to end, and kills those that do not. */
async function endAll(mark: Mark, child: ChildProcess, hasEnded: boolean): Promise<void> {
  if (!hasEnded) signalAll(mark, child, "SIGTERM");
  const until = performance.now() + graceMs;
  for (;;) {
    const isOver = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
    if (isOver && familyOf(mark).length === 0) return;
    if (performance.now() > until) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  signalAll(mark, child, "SIGKILL");
}

function signalAll(mark: Mark, child: ChildProcess, name: NodeJS.Signals): void {
  const group =
    child.pid === undefined || child.exitCode !== null || child.signalCode !== null ? [] : [-child.pid];
  for (const id of [...group, ...familyOf(mark)]) {
    try {
      process.kill(id, name);
    } catch {
      // It has ended in the meantime.
    }
  }
}

function listen(child: ChildProcess, onLine: ((line: string) => void) | undefined): () => string {
  let kept = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      kept = (kept + text).slice(-keptCharacters);
      const last = text
        .trimEnd()
        .split(/[\r\n]/)
        .at(-1);
      if (last !== undefined && last !== "") onLine?.(last);
    });
  }
  child.on("error", (error) => {
    kept += String(error);
  });
  return () => kept;
}

/** Resolves with the first event: the command's end, the time limit, or the cancellation. */
async function endsOrIsOver(exited: Promise<unknown>, limitMs: number, signal: AbortSignal): Promise<void> {
  let end = () => {};
  const isOver = new Promise<void>((resolve) => {
    end = resolve;
  });
  const timer = setTimeout(end, limitMs);
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  await Promise.race([exited, isOver]);
  clearTimeout(timer);
  signal.removeEventListener("abort", end);
}
