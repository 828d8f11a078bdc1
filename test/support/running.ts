import { existsSync, readFileSync } from "node:fs";

/** Whether a process runs. A zombie, which has ended and waits for its parent, does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = `/proc/${pid}/status`;
  return !existsSync(status) || !/^State:\s+Z/m.test(readFileSync(status, "utf8"));
}
