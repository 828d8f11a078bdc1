import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const programs = Object.entries(scripts).filter(([, command]) => command.includes(" bench/"));

/** Runs a program as npm does. */
function run(command: string, args: readonly string[]) {
  const [node, ...own] = command.split(" ");
  return spawnSync(node!, [...own, ...args], { cwd: root, encoding: "utf8" });
}

test.each(programs)("npm run %s has a help with examples, and refuses unknown options", (name, command) => {
  const help = run(command, ["--help"]);
  expect(help.status).toBe(0);
  expect(help.stdout).toContain(`$ npm run ${name}`);
  expect(help.stdout).toContain("The exit code is 1 if");
  expect(run(command, ["--no-such-option"]).status).toBe(2);
});
