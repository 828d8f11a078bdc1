import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MissingPackageError, requirePackage } from "./index.js";

test("an installed package is loaded", () => {
  const need = { user: "This test", packages: ["commander"] };
  expect(requirePackage<{ readonly Command: unknown }>("commander", need).Command).toBeTypeOf("function");
});

test("the error for a missing package names the user, the package and the install command for all packages", () => {
  const need = { user: "A store of clay", packages: ["clay-tablets", "@ur/stylus"] };
  const load = () => requirePackage("@ur/stylus/minimal.js", need);
  expect(load).toThrow(MissingPackageError);
  expect(load).toThrow(
    "A store of clay needs the package @ur/stylus, which is not installed: run `npm install clay-tablets @ur/stylus`.",
  );
  expect(load).toThrow(
    expect.objectContaining({ code: "MISSING_PACKAGE", package: "@ur/stylus", retryable: false }),
  );
});

test("an installed package that fails to load is not reported as missing", () => {
  const folder = mkdtempSync(join(tmpdir(), "percolatordb-package-"));
  const path = join(folder, "broken.cjs");
  writeFileSync(path, "throw new RangeError('no clay')");
  try {
    const load = () => requirePackage(path, { user: "This test", packages: ["clay-tablets"] });
    expect(load).toThrow(
      `This test needs the package ${path}, which cannot be loaded: run \`npm install clay-tablets\`.`,
    );
    expect(load).toThrow(expect.objectContaining({ cause: expect.any(RangeError) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
