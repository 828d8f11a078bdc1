import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { installed, notices } from "../../scripts/notices.js";

/** What the package brings along: its bill of materials, and how it is published. */

const root = fileURLToPath(new URL("../../", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly { readonly name: string; readonly version: string }[];
}

test("the bill of materials has what is installed with the package, as the notices have it, and no tools", () => {
  const printed = execFileSync("npm", ["run", "--silent", "sbom"], { cwd: root, encoding: "utf8" });
  const { bomFormat, metadata, components } = JSON.parse(printed) as Bill;
  expect(bomFormat).toBe("CycloneDX");
  expect(metadata.component).toMatchObject({ name: manifest.name, version: manifest.version });
  const names = components.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(Object.keys(manifest.dependencies)));
  for (const tool of ["vitest", "typescript", "vitepress"]) expect(names).not.toContain(tool);
  expect(names).toHaveLength(installed().length);
  const noticed = notices();
  const binaries = /^@(lmdb\/lmdb|msgpackr-extract\/msgpackr-extract)-/;
  const unnoticed = components
    .filter(({ name }) => !binaries.test(name))
    .filter(({ name, version }) => !noticed.includes(`\n${name} ${version}\n`));
  expect(unnoticed).toEqual([]);
});

test("the package is published with a provenance, and its modules have no side effects", () => {
  expect(manifest.publishConfig).toEqual({ access: "public", provenance: true });
  expect(manifest.sideEffects).toBe(false);
});
