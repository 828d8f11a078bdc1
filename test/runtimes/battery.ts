import { execFile } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Packed } from "../package/packed.js";
import type { Runtime } from "./runtimes.js";

/** A program of the folder `programs`. It ends with 0 if everything was as expected. */
export interface Program {
  readonly file: string;
  /** For the table. */
  readonly shows: string;
}

export const programs: readonly Program[] = [
  { file: "memory.mjs", shows: "`import`, a database in memory" },
  { file: "required.cjs", shows: "`require`" },
  { file: "typed.ts", shows: "TypeScript without a build" },
  { file: "folder.mjs", shows: "a folder, a worker, a live query" },
  { file: "killed.mjs", shows: "a folder whose writer is killed" },
  { file: "beside.mjs", shows: "a folder shared with a process of Node.js" },
  { file: "postgres.mjs", shows: "PostgreSQL" },
  { file: "bigtable.mjs", shows: "Bigtable's emulator and a coordinator" },
  { file: "http.mjs", shows: "live queries from the runtime's own server" },
];

export interface Outcome {
  readonly word: "ran" | "failed" | "cannot";
  /** What a failed program printed. */
  readonly output: string;
}

const peers = ["pg", "@grpc/grpc-js", "protobufjs", "google-auth-library"];
const timeoutMs = 120_000;

/** The programs, in a project that has the package and its optional peers. */
export class Battery {
  readonly #project: string;
  readonly #servers: { readonly emulator: string; readonly postgres: string };

  private constructor(project: string, servers: { readonly emulator: string; readonly postgres: string }) {
    this.#project = project;
    this.#servers = servers;
  }

  static async create(
    packed: Packed,
    servers: { readonly emulator: string; readonly postgres: string },
  ): Promise<Battery> {
    const project = join(packed.folder, "project");
    await packed.write("package.json", JSON.stringify({ name: "project", private: true, type: "module" }));
    const { code, stderr } = await packed.run(
      "npm",
      "install",
      "--no-audit",
      "--no-fund",
      packed.tarball,
      ...peers,
    );
    if (code !== 0) throw new Error(stderr);
    await cp(fileURLToPath(new URL("./programs", import.meta.url)), project, { recursive: true });
    return new Battery(project, servers);
  }

  async run({ command, runsTypes }: Runtime, { file }: Program): Promise<Outcome> {
    if (file.endsWith(".ts") && !runsTypes) return { word: "cannot", output: "" };
    const folder = await mkdtemp(join(tmpdir(), "percolatordb-runtime-"));
    const [program, ...options] = command;
    const env = {
      ...process.env,
      FOLDER: folder,
      NODE: process.execPath,
      RUNTIME: JSON.stringify(command),
      POSTGRES: this.#servers.postgres.replace(/schema=\w+/, `schema=${folder.slice(-6)}`),
      BIGTABLE_EMULATOR_HOST: this.#servers.emulator,
      METADATA_SERVER_DETECTION: "none",
    };
    const { code, output } = await new Promise<{ code: number | string; output: string }>((resolve) => {
      const settings = { cwd: this.#project, env, timeout: timeoutMs, killSignal: "SIGKILL" } as const;
      execFile(program, [...options, file], settings, (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : (error.code ?? "SIGKILL"),
          output: `${stdout}${stderr}`.trim(),
        });
      });
    });
    await rm(folder, { recursive: true, force: true });
    return code === 0
      ? { word: "ran", output: "" }
      : { word: "failed", output: `Exit code ${code}. ${output}` };
  }
}
