import { createRequire } from "node:module";
import { MissingPackageError } from "./errors.js";

/**
 * A part of this package that needs optional peers: packages that npm does not install by itself.
 */
export interface PackageNeed {
  /** The part that needs the packages, as the first words of the error message. */
  readonly user: string;
  /** All packages that the part needs, for the `npm install` command in the error message. */
  readonly packages: readonly string[];
}

let requireFromHere: NodeJS.Require | undefined;

/**
 * Loads the module `specifier` of an optional peer, on the first call. Modules that need a peer
 * call this function instead of `import`. So the first line of a failure says what to install, and
 * bundlers leave the peer out.
 *
 * @throws MissingPackageError if the package is not installed or cannot be loaded.
 */
export function requirePackage<Module>(specifier: string, { user, packages }: PackageNeed): Module {
  try {
    // A bundle of CommonJS has no URL, but a file name.
    requireFromHere ??= createRequire((import.meta.url as string | undefined) ?? __filename);
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
