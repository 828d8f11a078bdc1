import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A JavaScript runtime, and how it is started. */
export interface Runtime {
  /** With its version, such as `Node.js 24.21.0`. */
  readonly name: string;
  /** The program, and its options before the path of a module. */
  readonly command: readonly [string, ...string[]];
  /** Whether it runs TypeScript. */
  readonly runsTypes: boolean;
}

interface Kind {
  readonly label: string;
  /** In the npm registry, with a version. */
  readonly pack: string;
  readonly bin: string;
  readonly options: readonly string[];
  readonly runsTypes: boolean;
}

const node = (version: string, runsTypes: boolean): Kind => ({
  label: "Node.js",
  pack: `node@${version}`,
  bin: "node",
  options: [],
  runsTypes,
});

/** The oldest version that the package allows, each later line, and the newest. */
const kinds: readonly Kind[] = [
  node("20.19.0", false),
  node("22", true),
  node("24", true),
  node("latest", true),
  { label: "Bun", pack: "bun@latest", bin: "bun", options: [], runsTypes: true },
  { label: "Deno", pack: "deno@latest", bin: "deno", options: ["run", "--allow-all"], runsTypes: true },
];

/** Installs one runtime after another, each in a folder of its own. */
export async function* installRuntimes(folder: string, only: string | undefined): AsyncGenerator<Runtime> {
  for (const [index, kind] of kinds.entries()) {
    if (only !== undefined && !`${kind.label} ${kind.pack}`.toLowerCase().includes(only.toLowerCase()))
      continue;
    yield await install(join(folder, String(index)), kind);
  }
}

async function install(folder: string, { label, pack, bin, options, runsTypes }: Kind): Promise<Runtime> {
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), "{}");
  // Node's package links its program by a script of its own.
  await run("npm", ["install", "--no-audit", "--no-fund", pack], { cwd: folder });
  const program = join(folder, "node_modules", ".bin", bin);
  const { stdout } = await run(program, ["--version"]);
  const version = /\d+\.\d+\.\d+/.exec(stdout)![0];
  return { name: `${label} ${version}`, command: [program, ...options], runsTypes };
}
