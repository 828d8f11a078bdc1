import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Cli } from "../cli.js";

/** For how long what was read of a file counts as what it holds, in milliseconds. */
const freshMs = 1_000;

/**
 * What files hold, read again when it is asked for and a second has passed: tokens and certificates change while programs run. Files that
 * cannot be read, or whose text `parse` refuses, leave what was read before: a file is empty for a moment while it is written.
 */
export function rereading<T>(
  cli: Cli,
  files: readonly (string | undefined)[],
  first: T,
  parse: (texts: readonly (string | undefined)[]) => T,
): () => T {
  let readAt = cli.environment.monotonic();
  let known = first;
  return () => {
    const now = cli.environment.monotonic();
    if (now - readAt < freshMs) return known;
    readAt = now;
    try {
      known = parse(files.map((file) => (file === undefined ? undefined : read(cli, file))));
    } catch {
      // What it was is used until it can be read again.
    }
    return known;
  };
}

function read(cli: Cli, file: string): string {
  return readFileSync(resolve(cli.io.cwd, file), "utf8");
}
