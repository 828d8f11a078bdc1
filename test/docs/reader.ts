import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Client } from "pg";
import { expect } from "vitest";
import { S3Server } from "../backup/s3-server.js";
import { builtFiles } from "../support/built/files.js";
import { CommandLine } from "../support/command-line.js";
import { newPlace, withSuperuser } from "../support/postgres/index.js";
import { ProgramProcess } from "../support/program-process.js";
import { fill } from "./reader-apps.js";
import { wordsOf } from "./story.js";

const files: Readonly<Record<string, string | Buffer>> = {
  "index.html": "<h1>Example</h1>",
  token: "0123456789abcdef0123456789abcdef\n",
  "orders.csv": "id,customer,total\n1,ann,5\n2,bob,7\n",
  "orders.csv.gz": gzipSync("id,customer,total\n3,ann,5\n"),
  "visits.csv": "url;day;secs\nhttps://example.org/;2024;5\n",
  "events.jsonl": '{"id":"e1","kind":"click"}\n',
  "events.jsonl.gz": gzipSync('{"id":"e2","kind":"click"}\n'),
};

/** What the pages leave open, or what another process of this machine may have. */
const words: Readonly<Record<string, string>> = {
  APP: "./app.ts",
  OBSERVER: "cluster",
  "0.0.0.0:4180": "127.0.0.1:0",
  "4180": "0",
  "9464": "0",
  "10s": "1s",
  "100000": "100",
  // Their rows have a key of two parts.
  totals: "yearly",
  "totals=customer,year": "yearly=customer,year",
};

/** Whether a command goes on until Ctrl-C. */
const goesOn = ([name, ...args]: readonly string[]) =>
  ["worker", "dashboard", "watch"].includes(name!) || args.includes("--follow");

let databases = 0;

/**
 * Somebody who follows a page: in a folder with a module, a database in `data` and some files, with a database on
 * PostgreSQL that has a table of SQL, and with a storage that has the protocol of S3.
 */
export class Reader implements AsyncDisposable {
  readonly #cli: CommandLine;
  readonly #storage = new S3Server();
  readonly #backups = new Set<string>();
  #location: string | undefined;
  /** The command that runs, for errors. */
  #where = "";

  private constructor(cli: CommandLine) {
    this.#cli = cli;
  }

  static async create(): Promise<Reader> {
    const reader = new Reader(await CommandLine.create());
    await reader.#storage.start();
    for (const [name, content] of Object.entries(files))
      await writeFile(join(reader.#cli.folder, name), content);
    await reader.#writeModule("app.ts", "app");
    await reader.#writeModule("app.js", "app");
    await reader.#writeModule("sql.ts", "sql");
    await fill(join(reader.#cli.folder, "data"));
    await reader.#end(["export", "data", "backup.jsonl.gz"], 0);
    return reader;
  }

  /** Runs a command of a page. Throws if it ends with another exit code, by default 0. */
  async run(
    command: string,
    { code = 0, where }: { readonly code?: number | undefined; readonly where: string },
  ): Promise<void> {
    this.#where = `${where}: ${command}`;
    const [, ...shown] = wordsOf(command.replace(/^npx /, "").replace(/ (>>?|<) \S+$/, ""));
    const [name] = shown;
    if (name === "restore" || name === "backups") await this.#backUp(shown[1]!);
    const args = await this.#filled(shown);
    if (name === "bench" && !args.includes("--duration")) args.push("--duration", "100ms");
    // Neither a restore nor an export overwrites anything: the reader has moved away what was there.
    if (name === "restore" || name === "export") await this.#remove(args[2]);
    if (name === "backup") this.#backups.add(shown[2]!);
    if (goesOn(args)) await this.#start(args);
    else if (name === "wait") await this.#withWorker(() => this.#end(args, code));
    else await this.#end(args, code, /- < (\S+)$/.exec(command)?.[1]);
    if (name === "drop") await this.#writeModule("app.ts", "appWithoutOrders");
  }

  /** The words of a command, with this reader's places. */
  async #filled(shown: readonly string[]): Promise<string[]> {
    const isSql = shown.some((word) => word.startsWith("postgres:"));
    const location = isSql ? await this.#postgres() : "";
    return shown.map((word) => {
      if (word.startsWith("postgres:")) return location;
      const filled = words[word] ?? word;
      if (isSql && filled === "./app.ts") return "./sql.ts";
      return filled
        .replace("/mnt/backups/data", "backups")
        .replace("s3://my-bucket/", "s3://bucket/")
        .replace(/^20\d\d-\d\d-\d\dT.*Z$/, new Date().toISOString());
    });
  }

  /** The location of a database on PostgreSQL, which is made at the first call. */
  async #postgres(): Promise<string> {
    if (this.#location !== undefined) return this.#location;
    const { host } = await newPlace();
    const name = `reader_${process.pid}_${++databases}`;
    await withSuperuser(host, (pool) => pool.query(`create database ${name}`));
    const of = (schema: string) => `postgres://postgres@/${name}?${new URLSearchParams({ host, schema })}`;
    const client = new Client({ host, user: "postgres", database: name });
    await client.connect();
    await client.query("create table orders (id int primary key, customer text, total float8)");
    await client.query("insert into orders values (1, 'ann', 5)");
    await client.end();
    this.#location = of("search");
    await this.#end(["init", this.#location], 0);
    await this.#end(["attach", this.#location, "sql.ts"], 0);
    return this.#location;
  }

  async #remove(name: string | undefined): Promise<void> {
    if (name !== undefined) await rm(join(this.#cli.folder, name), { recursive: true, force: true });
  }

  /** Makes a backup in a place where none is, as somebody has who restores one. */
  async #backUp(place: string): Promise<void> {
    if (this.#backups.has(place)) return;
    this.#backups.add(place);
    await this.#end(await this.#filled(["backup", "data", place]), 0);
  }

  async #writeModule(file: string, exported: string): Promise<void> {
    const [apps] = builtFiles(["test/docs/reader-apps.ts"])!;
    await this.#cli.write(file, `export { ${exported} as default } from ${JSON.stringify(apps)};\n`);
  }

  async #end(args: readonly string[], code: number, input?: string): Promise<void> {
    const stdin = input === undefined ? undefined : files[input];
    const outcome = await this.#cli.run(args, { stdin, env: this.#storage.variables });
    expect(outcome.code, `${this.#where}\n${outcome.stdout}${outcome.stderr}`).toBe(code);
  }

  /** Runs a command until it has printed something, and ends it. */
  async #start(args: readonly string[]): Promise<void> {
    const [main] = builtFiles(["src/cli/main.ts"])!;
    const { folder: cwd } = this.#cli;
    const running = new ProgramProcess(main!, args, { cwd, env: this.#storage.variables });
    try {
      const said = running.said(() => true);
      if (args[0] === "watch") await this.#changeUntil(said);
      await said;
      running.signal("SIGTERM");
      await running.ended();
      // A worker and a dashboard end in order, and a backup is interrupted.
      expect(["0", "143"], `${this.#where}\n${running.errors}`).toContain(running.end);
    } finally {
      await running.kill();
    }
  }

  /** Changes orders, for a command that watches them. */
  async #changeUntil(said: Promise<void>): Promise<void> {
    let hasSaid = false;
    said.then(
      () => (hasSaid = true),
      () => (hasSaid = true),
    );
    for (let total = 0; !hasSaid; total++) {
      await this.#end(["set", "data", "orders.total", "2026-1", String(total)], 0);
      await this.#end(["set", "data", "orders.state", "2026-1", String(total)], 0);
    }
  }

  async #withWorker(use: () => Promise<void>): Promise<void> {
    const worker = this.#cli.start(["worker", "data", "app.ts"]);
    try {
      await use();
    } finally {
      worker.signal("SIGTERM");
      expect((await worker.outcome).code).toBe(0);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#storage[Symbol.asyncDispose]();
  }
}
