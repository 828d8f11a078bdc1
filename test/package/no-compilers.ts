import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";

const names = ["node-gyp", "make", "cmake", "gcc", "g++", "cc", "c++", "clang", "clang++"];

/** Replaces every compiler and build tool by a program that fails and records the call. */
export class NoCompilers {
  /** The environment for processes whose calls are recorded. */
  readonly env: Readonly<Record<string, string>>;
  readonly #log: string;

  private constructor(folder: string) {
    this.#log = join(folder, "asked");
    this.env = {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      npm_config_node_gyp: join(folder, "node-gyp"),
    };
  }

  static async create(folder: string): Promise<NoCompilers> {
    await mkdir(folder);
    const compilers = new NoCompilers(folder);
    await writeFile(compilers.#log, "");
    for (const name of names) {
      const path = join(folder, name);
      await writeFile(path, `#!/bin/sh\necho "${name} $*" >> "${compilers.#log}"\nexit 1\n`);
      await chmod(path, 0o755);
    }
    return compilers;
  }

  /** Returns the recorded command lines. */
  async asked(): Promise<readonly string[]> {
    return (await readFile(this.#log, "utf8")).split("\n").filter((line) => line !== "");
  }
}
