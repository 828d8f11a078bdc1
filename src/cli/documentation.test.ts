import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { CommandLine } from "../../test/support/command-line.js";
import { commandTree } from "../../test/support/command-tree.js";
import { helpOf } from "./command.js";

/*
 * The part of docs/command-line.md after the mark is generated from the program. To regenerate it,
 * run `npx vitest run src/cli/documentation.test.ts --update`.
 */

const page = fileURLToPath(new URL("../../docs/command-line.md", import.meta.url));
const mark = "<!-- From here on made from the program. -->\n";
const code = (text: string) => `\`${text.replaceAll("|", "\\|")}\``;

function escaped(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}

function defaultOf({ defaultValue }: Option): string {
  return defaultValue === undefined ? "" : ` (default: ${String(defaultValue)})`;
}

function sectionOf(command: Command): string {
  const help = helpOf(command)!;
  const rows = [
    ...command.registeredArguments.map(
      (argument) =>
        `| ${code(argument.required ? `<${argument.name()}>` : `[${argument.name()}]`)} | ${escaped(argument.description)} |`,
    ),
    ...command.options.map(
      (option) => `| ${code(option.flags)} | ${escaped(option.description)}${defaultOf(option)} |`,
    ),
  ];
  return [
    `## ${command.name()}`,
    `${code(`percolator ${command.name()} ${command.usage()}`)}: ${help.summary}.`,
    escaped(help.description),
    ["| | |", "| --- | --- |", ...rows].join("\n"),
    `With \`--json\`: ${escaped(help.json.join(" "))}`,
    ...(help.exit === undefined ? [] : [`Exit code ${escaped(help.exit.join(" "))}`]),
    ["```sh", ...help.examples.map((example) => `percolator ${example}`), "```"].join("\n"),
  ].join("\n\n");
}

describe("docs/command-line.md", () => {
  it("has every command, argument and option, and no other", async () => {
    const text = readFileSync(page, "utf8");
    expect(text).toContain(mark);
    const intro = text.slice(0, text.indexOf(mark) + mark.length);
    const sections = commandTree().commands.map(sectionOf);
    await expect(`${intro}\n${sections.join("\n\n")}\n`).toMatchFileSnapshot(page);
  });

  it("lists every command, and every exit code in --help", async () => {
    const text = readFileSync(page, "utf8");
    const intro = text.slice(0, text.indexOf(mark));
    const listed = [...intro.matchAll(/\[`([a-z]+)`\]\(#([a-z]+)\)/g)].map((match) => {
      expect(match[1]).toBe(match[2]);
      return match[1];
    });
    expect(listed.sort()).toEqual(
      commandTree()
        .commands.map((command) => command.name())
        .sort(),
    );
    const { stdout } = await (await CommandLine.create()).run(["--help"]);
    const codes = [...stdout.slice(stdout.indexOf("Exit codes:")).matchAll(/^ {2}(\d+) /gm)].map(
      (match) => match[1]!,
    );
    expect(codes).toEqual(["0", "1", "2", "3", "4", "141", "130"]);
    for (const each of codes) expect(intro).toMatch(new RegExp(`^\\| ${each}\\b`, "m"));
  });
});
