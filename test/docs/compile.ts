import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { root } from "./examples.js";

const compiler = createRequire(import.meta.url).resolve("typescript-7/package.json");

/** Returns the compiler's errors in some files and in what they import, with the project's options. */
export function compilerErrors(config: string, paths: readonly string[]): readonly string[] {
  // Within the project, so that the compiler finds the types of packages.
  const cache = join(root, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "compile-"));
  try {
    const own = join(folder, "tsconfig.json");
    const files = paths.map((path) => resolve(path));
    writeFileSync(own, JSON.stringify({ extends: config, files, include: [] }));
    const args = [join(dirname(compiler), "bin", "tsc"), "-p", own, "--noEmit", "--pretty", "false"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    const errors = stdout.split("\n").filter((line) => line.includes(": error TS"));
    if (status !== 0 && errors.length === 0) throw new Error(`The compiler failed: ${stdout}${stderr}`);
    return errors.map((line) => line.replace(/\(\d+,\d+\): error TS\d+/, ""));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
