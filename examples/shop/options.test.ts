import { expect, test } from "vitest";
import { readOptions, UsageError } from "./options.js";
import { tokensOf } from "./tokens.js";

test("words of a name have no case and no accents", () => {
  expect(tokensOf("Zoë O'Neil-Ångström, zoe 2nd")).toEqual(["zoe", "o", "neil", "angstrom", "2nd"]);
});

test("a mistake on the command line is named", () => {
  expect(readOptions(["--orders", "5", "--storm", "2", "--verify"])).toMatchObject({
    orders: 5,
    stormSeconds: 2,
  });
  for (const args of [
    ["--orders", "x"],
    ["--storm", "-1"],
    ["--data", "./folder"],
    ["--nothing"],
    ["word"],
  ]) {
    expect(() => readOptions(args)).toThrow(UsageError);
  }
});
