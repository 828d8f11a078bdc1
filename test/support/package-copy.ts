import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** What `npm run build` reads and `npm pack` packs, besides the packages of other authors. */
const sources = [
  "src",
  "web",
  "scripts/public-types.ts",
  "tsconfig.json",
  "tsconfig.build.json",
  "package.json",
  "LICENSE",
  "README.md",
  "THIRD_PARTY_NOTICES",
];

/**
 * A copy of this package's sources in a new folder. A build begins by deleting `dist`, which other
 * tests use at the same time, so a test that builds does it in a copy.
 */
export class PackageCopy implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "percolatordb-copy-"));

  constructor() {
    for (const name of sources) cpSync(join(root, name), join(this.folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.folder, "node_modules"));
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
