import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

/** The fields of `package.json` that this package uses. */
interface PackageManifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

let known: PackageManifest | undefined;

/**
 * The `package.json` of this package. A bundled program does not contain that file, so its version
 * is `bundled`.
 */
export function packageManifest(): PackageManifest {
  known ??= read() ?? { version: "bundled", engines: { node: "^20.19.0 || >=22.12.0" } };
  return known;
}

function read(): PackageManifest | undefined {
  // A bundle of CommonJS has no URL, but a file name.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename);
  const file = new URL("../../package.json", here);
  if (!existsSync(file)) return undefined;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as PackageManifest & { readonly name?: string };
  // The folder above a bundle may hold the program's own package.json.
  return manifest.name === "percolatordb" ? manifest : undefined;
}
