import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PackageCopy } from "../support/package-copy.js";

const run = promisify(execFile);
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The package as npm packs it, installed in a new project. */
export class Packed {
  readonly folder: string;
  readonly tarball: string;
  /** Set for every command. */
  env: Readonly<Record<string, string>> = {};

  private constructor(folder: string, tarball: string) {
    this.folder = folder;
    this.tarball = tarball;
  }

  static async create(): Promise<Packed> {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-packed-"));
    using copy = new PackageCopy();
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
      cwd: copy.folder,
      maxBuffer: 1 << 26,
    });
    // The output of the build comes first.
    const [{ filename }] = JSON.parse(stdout.slice(stdout.search(/^\[$/m))) as [
      { readonly filename: string },
    ];
    await mkdir(join(folder, "project"));
    return new Packed(folder, join(folder, filename));
  }

  /** A file of the project. */
  write(name: string, text: string): Promise<void> {
    return writeFile(join(this.folder, "project", name), text);
  }

  /** Installs packages in a new project, and returns its folder. */
  async install(name: string, given: readonly string[]): Promise<{ readonly folder: string }> {
    const folder = join(this.folder, name);
    await mkdir(folder);
    await writeFile(join(folder, "package.json"), JSON.stringify({ name, private: true }));
    const args = ["install", "--no-audit", "--no-fund", "--prefix", folder, ...given];
    const { code, stderr } = await this.run("npm", ...args);
    if (code !== 0) throw new Error(`npm cannot install ${given.join(" ")}: ${stderr}`);
    return { folder };
  }

  /** Runs a command in the project until it ends. */
  async run(command: string, ...args: readonly string[]): Promise<Ran> {
    try {
      const env = { ...process.env, ...this.env };
      const options = { cwd: join(this.folder, "project"), maxBuffer: 1 << 26, env };
      const { stdout, stderr } = await run(command, [...args], options);
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as Ran;
      return { code, stdout, stderr };
    }
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
