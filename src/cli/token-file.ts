import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Cli } from "./cli.js";
import { UsageError } from "./usage-error.js";

/** The first token of a file that an option names: it may hold several, a line each, while they are changed. */
export async function readToken(
  cli: Cli,
  option: string,
  file: string | undefined,
): Promise<string | undefined> {
  if (file === undefined) return undefined;
  return firstToken(await readGiven(cli, option, file), option, file);
}

/** The first token of a file's text. */
export function firstToken(text: string, option: string, file: string): string {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const token = lines.find((line) => line !== "");
  if (token !== undefined) return token;
  throw new UsageError(`The file ${file} of ${option} holds no token.`);
}

/** What a file that an option names holds, as text. */
export async function readGiven(cli: Cli, option: string, file: string): Promise<string> {
  try {
    return await readFile(resolve(cli.io.cwd, file), "utf8");
  } catch (error) {
    throw new UsageError(`The file ${file} of ${option} cannot be read: ${(error as Error).message}`);
  }
}
