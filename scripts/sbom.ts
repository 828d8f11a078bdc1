/**
 * Prints the software bill of materials of what npm installs with this package, in CycloneDX: `npm run sbom --silent`.
 * `npm sbom --omit dev` leaves out a dependency that a tool needs too. So this script gives npm a project without
 * tools.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installed } from "./notices.js";

const root = fileURLToPath(new URL("../", import.meta.url));
const read = (name: string) => JSON.parse(readFileSync(join(root, name), "utf8"));

const { devDependencies: _, overrides: __, scripts: ___, ...manifest } = read("package.json");
const lock = read("package-lock.json");
const { devDependencies: ____, ...project } = lock.packages[""];

const base = mkdtempSync(join(tmpdir(), "percolator-sbom-"));
try {
  // npm takes the name of the whole from the folder.
  const folder = join(base, manifest.name);
  mkdirSync(folder);
  const packages = { "": project, ...Object.fromEntries(installed()) };
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "package-lock.json"), JSON.stringify({ ...lock, packages }));
  const args = ["sbom", "--sbom-format", "cyclonedx", "--package-lock-only"];
  process.stdout.write(execFileSync("npm", args, { cwd: folder, encoding: "utf8", maxBuffer: 1 << 26 }));
} finally {
  rmSync(base, { recursive: true });
}
