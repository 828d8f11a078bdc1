import { expect, test } from "vitest";
import { commandLines } from "../../../test/support/command-lines.js";
import { commandTree } from "../../../test/support/command-tree.js";

test("the test of lost output has a line for every command", () => {
  const names = commandTree().commands.map((command) => command.name());
  expect(Object.keys(commandLines).sort()).toEqual(names.sort());
});
