import { expect, test } from "vitest";
import { CommandLine } from "../../../test/support/command-line.js";

/** Nothing listens at this port. */
const location = "postgres://app:secret@127.0.0.1:1/shop";

test.each([
  ["status", location],
  ["status", location, "--json"],
  ["backup", location, "backups"],
  ["backup", "data", location],
  ["backups", location],
  ["restore", "backups", location],
  ["compact", location, "compacted"],
  ["locks", location.replace("postgres", "Postgres")],
  ["locks", location.replace("secret", "not/secret")],
  ["locks", location.replace("secret", "not?secret")],
  ["locks", location.replace("//", "")],
])("%s %s does not print the password", async (...args) => {
  const cli = await CommandLine.create();
  const { code, stdout, stderr } = await cli.run(args);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/app@|"error"/);
  expect(stdout + stderr).not.toContain("secret");
});
