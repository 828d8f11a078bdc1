import { existsSync, readFileSync } from "node:fs";

/** What the package says of itself. */
interface PackageManifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

let known: PackageManifest | undefined;

/**
 * The `package.json` of this package. Bundled into a program there is none: then the version is
 * `bundled`.
 */
export function packageManifest(): PackageManifest {
  known ??= read() ?? { version: "bundled", engines: { node: ">=20.19" } };
  return known;
}

function read(): PackageManifest | undefined {
  const file = new URL("../../package.json", import.meta.url);
  if (!existsSync(file)) return undefined;
  const manifest = JSON.parse(readFileSync(file, "utf8")) as PackageManifest & { readonly name?: string };
  // Above a bundle there may be the program's own.
  return manifest.name === "percolatordb" ? manifest : undefined;
}
