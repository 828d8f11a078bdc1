import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { rereading } from "./secret-file.js";

/**
 * The tokens of a file that an option names, as they are at each call: one, or several, a line each, while they are changed. Undefined if there
 * is no file.
 */
export async function watchedTokens(
  cli: Cli,
  option: string,
  file: string | undefined,
): Promise<(() => readonly string[]) | undefined> {
  if (file === undefined) return undefined;
  const first = tokensIn(await readGiven(cli, option, file), option, file);
  return rereading(cli, [file], first, ([text]) => tokensIn(text!, option, file));
}

/** The first of these, as it is at each call. */
export async function watchedToken(
  cli: Cli,
  option: string,
  file: string | undefined,
): Promise<(() => string) | undefined> {
  const tokens = await watchedTokens(cli, option, file);
  return tokens && (() => tokens()[0]!);
}

/** The tokens of a file's text, at least one. */
export function tokensIn(text: string, option: string, file: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length > 0) return tokens;
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
