import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { Cli } from "../cli.js";
import { UsageError } from "../usage-error.js";
import { rereading } from "./secret-file.js";

/**
 * Returns a function that returns the tokens in the file that an option names. The function reads
 * the file again at most once a second. The file has one token per line: usually one, or several
 * while an operator replaces the token. Returns undefined if the option was not given.
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

/** As {@link watchedTokens}, with only the first token. */
export async function watchedToken(
  cli: Cli,
  option: string,
  file: string | undefined,
): Promise<(() => string) | undefined> {
  const tokens = await watchedTokens(cli, option, file);
  return tokens && (() => tokens()[0]!);
}

/** Returns the tokens in a file's text. Throws a `UsageError` if there are none. */
export function tokensIn(text: string, option: string, file: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const tokens = lines.filter((line) => line !== "");
  if (tokens.length > 0) return tokens;
  throw new UsageError(`The file ${file} of ${option} holds no token.`);
}

/** Reads a file that an option names, as text. Throws a `UsageError` if that fails. */
export async function readGiven(cli: Cli, option: string, file: string): Promise<string> {
  try {
    return await readFile(resolve(cli.io.cwd, file), "utf8");
  } catch (error) {
    throw new UsageError(`The file ${file} of ${option} cannot be read: ${(error as Error).message}`);
  }
}
