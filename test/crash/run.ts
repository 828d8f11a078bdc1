import { spawn } from "node:child_process";
import { once } from "node:events";
import { root } from "../support/built/files.js";

/** The result of a command. */
export interface Ran {
  /** Its exit code, or -1 if it could not be started or was ended by a signal. */
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in the project's folder until it ends. */
export async function run(command: string, args: readonly string[]): Promise<Ran> {
  const child = spawn(command, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data: Buffer) => {
    stdout += data.toString();
  });
  child.stderr.on("data", (data: Buffer) => {
    stderr += data.toString();
  });
  try {
    const [status] = (await once(child, "close")) as [number | null];
    return { status: status ?? -1, stdout, stderr };
  } catch (error) {
    return { status: -1, stdout, stderr: String(error) };
  }
}
