import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nodeArguments } from "../support/built/files.js";

const script = fileURLToPath(new URL("./child.ts", import.meta.url));

/** A process of the tests, and its output so far. */
export interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves when a line begins with this text. Rejects if the process ends first. */
  said(beginning: string): Promise<string>;
  /**
   * Resolves to the exit code or signal when the process has ended and all its output is in {@link
   * lines}.
   */
  readonly ended: Promise<number | string>;
  readonly errors: () => string;
}

/** Starts `child.ts`, in a shell with `limits` if they are given. */
export function startChild(args: readonly string[], limits?: string): Child {
  const command = [process.execPath, ...nodeArguments(script, args)];
  const child =
    limits === undefined
      ? spawn(command[0]!, command.slice(1), { stdio: ["ignore", "pipe", "pipe"] })
      : spawn("sh", ["-c", `${limits}; exec "$@"`, "sh", ...command], { stdio: ["ignore", "pipe", "pipe"] });
  const lines: string[] = [];
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => lines.push(line));
  const ended = Promise.all([once(child, "close"), once(reader, "close")]).then(
    ([[code, signal]]) => (code ?? signal) as number | string,
  );
  const said = (beginning: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const line = lines.find((each) => each.startsWith(beginning));
        if (line === undefined) return;
        reader.off("line", look);
        resolve(line);
      };
      reader.on("line", look);
      ended.then(
        (end) => reject(new Error(`the process ended (${end}) before it said "${beginning}": ${errors}`)),
        reject,
      );
      look();
    });
  return { process: child, lines, said, ended, errors: () => errors };
}
