import { readFileSync } from "node:fs";

/** What the package says of itself. */
interface PackageManifest {
  readonly version: string;
  readonly engines: { readonly node: string };
}

let known: PackageManifest | undefined;

/** The `package.json` of this package. */
export function packageManifest(): PackageManifest {
  known ??= JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as PackageManifest;
  return known;
}
