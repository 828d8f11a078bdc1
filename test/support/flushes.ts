import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { vi } from "vitest";

/**
 * Records the paths of the files and folders that are flushed from now on, in place of flushing them.
 * The caller restores the mocks, and calls `syncBuiltinESMExports` after that.
 */
export function recordFlushes(): readonly string[] {
  const flushed: string[] = [];
  const { open } = fs;
  vi.spyOn(fs, "open").mockImplementation(async (...args) => {
    const file = await open(...args);
    const sync = async () => {
      flushed.push(String(args[0]));
    };
    return Object.assign(file, { sync });
  });
  syncBuiltinESMExports();
  return flushed;
}
