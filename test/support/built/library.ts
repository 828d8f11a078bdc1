import { builtFiles } from "./files.js";

/** The files of the built library, to import from. */
export interface BuiltLibrary {
  readonly index: string;
  readonly recipes: string;
}

/**
 * Builds the library of this checkout for modules that a test writes and the command line loads. From
 * the library's sources, the command line's loader of TypeScript takes half a minute, because it
 * compiles every file of them.
 */
export function builtLibrary(): BuiltLibrary {
  const [index, recipes] = builtFiles(["src/index.ts", "src/recipes/index.ts"])!;
  return { index: index!, recipes: recipes! };
}
