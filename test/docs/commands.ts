import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { commandTree } from "../support/command-tree.js";
import { root } from "./examples.js";
import { wordsOf } from "./story.js";

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/**
 * Returns the commands of a block without its comments, a command of several lines as one, and each part
 * of a pipe or a sequence separately.
 */
export function commandsOf(body: string): readonly string[] {
  return body
    .replace(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.replace(/(^|\s)#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(/ && | \| /))
    .map((command) => command.replace(/ (>>?|<) \S+$/, "").trim());
}

/**
 * Returns the error in a command on a page, as far as it can be found without running it: unknown
 * commands, arguments and options of `percolator`, and missing scripts and folders. Undefined if
 * there is none.
 */
export function mistakeIn(command: string): string | undefined {
  const words = wordsOf(command);
  const [program, second, third] = words[0] === "npx" ? words.slice(1) : words;
  if (program === "percolator") return mistakeInCommandLine(words.slice(words.indexOf("percolator") + 1));
  if (program === "vitest")
    return existsSync(join(root, third ?? "")) ? undefined : `there is no ${String(third)}`;
  if (program === "npm" && second === "run")
    return scripts[third ?? ""] === undefined ? `no script ${String(third)}` : undefined;
  if (program === "npm" && ["ci", "test", "install"].includes(second ?? "")) return undefined;
  if (["echo", "cat", "cp"].includes(program ?? "")) return undefined;
  return "it is not known here; mark its block `no-run`";
}

function mistakeInCommandLine(words: readonly string[]): string | undefined {
  // Words in capitals are placeholders.
  if (words[0] === "COMMAND" || words.length === 0) return undefined;
  if (words[0]?.startsWith("--"))
    return ["--help", "--version"].includes(words[0]) ? undefined : `no option ${words[0]}`;
  const command = commandTree().commands.find((each) => each.name() === words[0]);
  if (command === undefined) return `no command ${String(words[0])}`;
  const { operands, unknown } = command.parseOptions(words.slice(1));
  if (unknown.length > 0) return `no option ${unknown.join(" ")} of ${command.name()}`;
  const needed = command.registeredArguments.filter(({ required }) => required).length;
  const most = command.registeredArguments.some(({ variadic }) => variadic)
    ? Number.POSITIVE_INFINITY
    : command.registeredArguments.length;
  if (operands.length >= needed && operands.length <= most) return undefined;
  return `${command.name()} takes ${needed} to ${most} arguments, not ${operands.join(" ")}`;
}
