import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { notices, noticesPath } from "../../scripts/notices.js";

test("THIRD_PARTY_NOTICES matches the installed packages: npm run notices", async () => {
  expect(await readFile(noticesPath, "utf8")).toBe(notices());
});

test("it has the licence of every package that is needed at run time, and of their bundled parts", () => {
  const text = notices();
  const without = text
    .split("-".repeat(80))
    .filter((part) => part.includes("without the text of its licence"));
  expect(without.map((part) => part.trim().split(" ")[0])).toEqual(["weak-lru-cache"]);
  for (const needed of ["commander", "jiti", "lmdb", "msgpackr", "preact"]) {
    expect(text).toMatch(new RegExp(`^${needed} \\d`, "m"));
  }
  expect(text).toContain("The OpenLDAP Public License");
  // Excludes tools, and optional peers, which npm does not install with the package.
  for (const other of ["vitest", "@grpc/grpc-js", "protobufjs", "google-auth-library"]) {
    expect(text).not.toMatch(new RegExp(`^${other} \\d`, "m"));
  }
});
