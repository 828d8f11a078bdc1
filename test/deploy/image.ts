import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { PackageCopy } from "../support/package-copy.js";
import { copiesOf, stages } from "./dockerfile.js";
import { root } from "./files.js";

/**
 * A folder with the files as the Dockerfile's last stage places them, so that its entry point runs.
 */
export class Image {
  readonly folder = mkdtempSync(join(tmpdir(), "percolator-image-"));
  /** The container's root. */
  readonly #inside = join(this.folder, "inside");
  /** Variables of the container. */
  readonly env: Record<string, string> = {};
  readonly #processes = new Set<ChildProcess>();

  constructor() {
    const last = stages().at(-1)!;
    const workdir = last.instructions.find(({ name }) => name === "WORKDIR")!.rest;
    for (const { from, sources, target } of copiesOf(last)) {
      const to = join(this.#inside, resolve(workdir, target));
      for (const source of sources) this.#put(from, source, sources.length > 1 || target.endsWith("/"), to);
    }
  }

  #put(from: string | undefined, source: string, isFolder: boolean, to: string): void {
    const place = isFolder ? join(to, basename(source)) : to;
    mkdirSync(join(place, ".."), { recursive: true });
    if (from === undefined) cpSync(join(root, source), place, { recursive: true });
    else if (source === "/build/dist") build(place);
    else if (source === "/package/node_modules") symlinkSync(join(root, "node_modules"), place);
    else if (source === "/app/node_modules") mkdirSync(place);
    else throw new Error(`What is ${source} of the stage ${from}?`);
  }

  /** Returns the path on this machine of a path in the container. */
  path(inside: string): string {
    return join(this.#inside, inside);
  }

  /** Runs the container's `node` until it ends. */
  node(...args: readonly string[]) {
    const here = args.map((arg) => this.#here(arg));
    const env = { ...process.env, ...this.env };
    return spawnSync(process.execPath, here, { encoding: "utf8", timeout: 60_000, env });
  }

  /** Runs a command line of the program by the entry point, until it ends. */
  run(...args: readonly string[]) {
    const [, ...entry] = this.entryPoint;
    return this.node(...entry, ...args);
  }

  /** Starts a command line that keeps running. Returns the documents that it prints. */
  start(...args: readonly string[]) {
    const [, ...entry] = this.entryPoint;
    const child = spawn(
      process.execPath,
      [...entry, ...args].map((arg) => this.#here(arg)),
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, ...this.env },
      },
    );
    this.#processes.add(child);
    const ended = once(child, "exit").then(([code]) => {
      this.#processes.delete(child);
      return code as number | null;
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const event = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`The program ended without the event "${name}".`);
        const document = JSON.parse(value) as Record<string, unknown>;
        if (document.event === name) return document;
      }
    };
    return { child, ended, event };
  }

  get entryPoint(): readonly string[] {
    const { rest } = stages()
      .at(-1)!
      .instructions.find(({ name }) => name === "ENTRYPOINT")!;
    return JSON.parse(rest) as string[];
  }

  #here(arg: string): string {
    return arg.startsWith("/app/") ? this.path(arg) : arg;
  }

  async remove(): Promise<void> {
    for (const child of this.#processes) {
      child.kill("SIGKILL");
      await once(child, "exit").catch(() => undefined);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Does the same as `npm run build`, in a copy of the package. */
function build(place: string): void {
  using copy = new PackageCopy();
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const path = [join(root, "node_modules/.bin"), process.env.PATH].join(delimiter);
  const options = {
    cwd: copy.folder,
    encoding: "utf8",
    shell: true,
    env: { ...process.env, PATH: path },
  } as const;
  const built = spawnSync(scripts.build, options);
  if (built.status !== 0) throw new Error(`It does not build:\n${built.stdout}${built.stderr}`);
  cpSync(join(copy.folder, "dist"), place, { recursive: true });
}
