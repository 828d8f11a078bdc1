import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type PostgresServer, startPostgres } from "../../examples/support/postgres-server.js";
import { blocksOf, root } from "../docs/examples.js";
import { withSuperuser } from "../support/postgres/index.js";
import type { ProgramProcess } from "../support/program-process.js";
import { CommandPage } from "./page.js";
import type { Project } from "./project.js";

type Words = Readonly<Record<string, string>>;

/** Where the shop's database is, and how the pages make it, back it up and restore it. */
export interface Place extends AsyncDisposable {
  /** The location that commands and programs get. */
  readonly location: string;
  /** What stands for the pages' placeholders and locations. */
  readonly words: Words;
  /** The page that shows how to start workers, and the beginning of that command. */
  readonly worker: readonly [page: string, beginning: string];
  create(): Promise<void>;
  /** Makes a backup that begins after the call, while programs write. */
  backUp(): Promise<void>;
  /** Deletes the database under its programs. */
  destroy(): Promise<void>;
  /** Restores the newest backup. */
  restore(): Promise<void>;
}

/** The words of a command that a page shows. */
export function shown(page: string, beginning: string, words: Words): readonly string[] {
  const commands = new CommandPage(page);
  Object.assign(commands.words, words);
  return commands.take(beginning);
}

/** Any free port, and fewer processes than the page starts. */
const common = { APP: "./app.ts", "4": "2", "9464": "0" };
const folderPage = "docs/backup-and-restore.md";
const postgresPage = "docs/operations-postgres.md";

/** A folder, which is backed up continuously. */
export class FolderPlace implements Place {
  readonly location = "./data";
  readonly worker = ["docs/command-line.md", "percolator worker ./data ./app.ts --processes 4"] as const;
  readonly words: Words;
  readonly #project: Project;
  #following: ProgramProcess | undefined;

  constructor(project: Project) {
    this.#project = project;
    const backups = project.file("backups");
    this.words = { ...common, LOCATION: this.location, "/mnt/backups/data": backups, "10s": "1s" };
  }

  /** Does nothing, because the first worker makes the folder. */
  async create(): Promise<void> {}

  async backUp(): Promise<void> {
    this.#following = this.#project.start(
      shown(folderPage, "percolator backup ./data /mnt/backups/data --follow", this.words),
    );
    await this.#following.said((line) => line.startsWith("backup of "));
    await this.#run(
      "percolator backups /mnt/backups/data --verify",
      "percolator restore /mnt/backups/data ./drill",
      "percolator check ./drill",
      "percolator status ./drill",
    );
  }

  async destroy(): Promise<void> {
    await rm(this.#project.file("data"), { recursive: true, maxRetries: 10 });
    await this.#following!.ended();
  }

  async restore(): Promise<void> {
    await this.#run("percolator restore /mnt/backups/data ./data", "percolator check ./data");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of ["data", "drill", "backups"])
      await rm(this.#project.file(name), { recursive: true, force: true });
  }

  async #run(...beginnings: readonly string[]): Promise<void> {
    for (const each of beginnings) await this.#project.run(shown(folderPage, each, this.words));
  }
}

/** A schema of a PostgreSQL server of its own, which `owner` owns and `app` uses. */
export class PostgresPlace implements Place {
  readonly location: string;
  readonly worker = [postgresPage, "percolator worker"] as const;
  readonly words: Words;
  readonly #project: Project;
  readonly #server: PostgresServer;

  private constructor(project: Project, server: PostgresServer) {
    this.#project = project;
    this.#server = server;
    const of = (role: string, more = "") => `postgres://${role}@/shop?host=${server.host}${more}`;
    this.location = of("app", "&schema=search");
    this.words = {
      ...common,
      "./data": this.location,
      LOCATION: this.location,
      "postgres://owner@db.internal/shop?schema=search": of("owner", "&schema=search"),
      "postgres://owner@db.internal/shop": of("owner"),
      "postgres://app@db.internal/shop?schema=search": this.location,
    };
  }

  static async start(project: Project): Promise<PostgresPlace> {
    const place = new PostgresPlace(project, await startPostgres());
    await withSuperuser(place.#server.host, async (pool) => {
      for (const role of ["owner", "app"]) await pool.query(`create role ${role} login`);
      await pool.query("create database shop owner owner");
    });
    return place;
  }

  async create(): Promise<void> {
    await this.#run("percolator init");
    const page = await readFile(join(root, "docs/postgres.md"), "utf8");
    const grants = blocksOf(page).find(({ heading }) => heading === "The role of the program")!.body;
    await this.#project.run(["psql", this.words["postgres://owner@db.internal/shop"]!, "--command", grants]);
    await this.#run("percolator doctor");
  }

  async backUp(): Promise<void> {
    await this.#run("pg_dump");
  }

  async destroy(): Promise<void> {
    await this.#run('psql postgres://owner@db.internal/shop --command "drop schema');
  }

  /** Attaches nothing and makes no views, because the shop has none. */
  async restore(): Promise<void> {
    await this.#run(
      'psql postgres://owner@db.internal/shop --command "drop schema',
      "pg_restore",
      'psql postgres://owner@db.internal/shop --command "analyze',
      "percolator check",
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }

  async #run(...beginnings: readonly string[]): Promise<void> {
    for (const each of beginnings) await this.#project.run(shown(postgresPage, each, this.words));
  }
}
