import { readFileSync } from "node:fs";

/** The number by which LMDB detects that the machine has restarted. 0 if the system has none. */
export function bootNumber(): bigint {
  try {
    return BigInt(`0x${readFileSync("/proc/sys/kernel/random/boot_id", "latin1").slice(0, 8)}`);
  } catch {
    return 0n;
  }
}
