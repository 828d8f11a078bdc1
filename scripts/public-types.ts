/** Deletes the declarations in `dist` that no entry point of the package leads to. They are half a megabyte. */
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript";

type Exports = string | { readonly [condition: string]: Exports };

function typesOf(exported: Exports): readonly string[] {
  if (typeof exported === "string") return exported.endsWith(".d.ts") ? [resolve(exported)] : [];
  return Object.values(exported).flatMap(typesOf);
}

const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly exports: Exports };
const program = ts.createProgram(typesOf(exports), {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
});
const wanted = new Set(program.getSourceFiles().map(({ fileName }) => resolve(fileName)));
for (const file of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
  const path = resolve(join("dist", file));
  if (path.endsWith(".d.ts") && !wanted.has(path)) rmSync(path);
}
