import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
export const root = fileURLToPath(new URL("../../", import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The package as npm packs it, and a new project in which that is installed. */
export class Packed {
  readonly folder: string;
  readonly tarball: string;
  /** Set for everything that is run. */
  env: Readonly<Record<string, string>> = {};

  private constructor(folder: string, tarball: string) {
    this.folder = folder;
    this.tarball = tarball;
  }

  static async create(): Promise<Packed> {
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-packed-"));
    const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
      cwd: root,
      maxBuffer: 1 << 26,
    });
    // What builds the package has its say before.
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

  /** Runs something in the project to its end. */
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
