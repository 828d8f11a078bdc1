import { expect, test } from "vitest";
import { command, readOptions } from "./options.js";
import { tokensOf } from "./tokens.js";

test("words of a name have no case and no accents", () => {
  expect(tokensOf("Zoë O'Neil-Ångström, zoe 2nd")).toEqual(["zoe", "o", "neil", "angstrom", "2nd"]);
});

test.each([
  [["--orders", "x"], "'x' is invalid. It must be a whole number from 1 to 10000000."],
  [["--storm", "-1"], "from 0 to 86400"],
  [["--data", "./folder"], "It must be a location on PostgreSQL"],
  [["--nothing"], "unknown option '--nothing'"],
  [["word"], "too many arguments"],
])("a mistake on the command line is named: %j", (args, message) => {
  command.exitOverride().configureOutput({ writeErr: () => undefined });
  expect(() => readOptions(args)).toThrow(message);
});

test("options have defaults", () => {
  const given = readOptions(["--orders", "5", "--storm", "2", "--verify"]);
  expect(given).toEqual({ orders: 5, storm: 2, verify: true, serve: false, port: 8090 });
});
