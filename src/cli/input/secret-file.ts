import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { Cli } from "../cli.js";

/** Milliseconds for which the last contents of a file are used without reading it again. */
const freshMs = 1_000;

/**
 * Returns a function that returns the current contents of secret files. It reads the files again at
 * most once a second, because tokens and certificates change while programs run. If it cannot read
 * a file, or `parse` refuses the text, it keeps the old contents, because a file may be empty while
 * another process writes it.
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
      // Keeps the old contents until the file can be read again.
    }
    return known;
  };
}

function read(cli: Cli, file: string): string {
  return readFileSync(resolve(cli.io.cwd, file), "utf8");
}
