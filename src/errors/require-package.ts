import { createRequire } from "node:module";
import { MissingPackageError } from "./errors.js";

/** A use of this package that needs others, which npm installs only for those who ask. */
export interface PackageNeed {
  /** What needs them; the message begins with it. */
  readonly user: string;
  /** All packages that it needs, for the command that installs them. */
  readonly packages: readonly string[];
}

const requireFromHere = createRequire(import.meta.url);

/**
 * The module `specifier` of an optional peer, loaded when this is first called. Modules that need a
 * peer load it this way rather than by `import`: so the first line of a failure says what to
 * install, and bundlers leave the peer alone.
 *
 * @throws MissingPackageError if the package is not installed or cannot be loaded.
 */
export function requirePackage<Module>(specifier: string, { user, packages }: PackageNeed): Module {
  try {
    return requireFromHere(specifier) as Module;
  } catch (cause) {
    const name = packages.find((each) => specifier === each || specifier.startsWith(`${each}/`)) ?? specifier;
    const isMissing = cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND";
    throw new MissingPackageError(
      `${user} needs the package ${name}, which ${isMissing ? "is not installed" : "cannot be loaded"}: ` +
        `run \`npm install ${packages.join(" ")}\`.`,
      { package: name, cause },
    );
  }
}
