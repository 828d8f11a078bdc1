import { Command, Option } from "commander";
import { whole } from "../support/command.js";

/** The command line's options. */
export interface Options {
  /** The paths to load. Empty for the packages of the project. */
  readonly sources: readonly string[];
  readonly data: string;
  readonly base: string | undefined;
  readonly once: boolean;
  readonly verify: boolean;
  /** Loads the first pages with `db.load`. */
  readonly bulk: boolean;
  /** Serves search without loading or indexing anything. */
  readonly serve: boolean;
  readonly host: string;
  readonly port: number;
  readonly concurrency: number;
  readonly threads: number;
  readonly dashboardTokenFile: string | undefined;
  readonly dashboardWritable: boolean;
}

/**
 * Parses the command line. For invalid arguments it prints the reason and throws commander's error.
 */
export function readOptions(args: readonly string[]): Options {
  const command = new Command("webindex")
    .description(
      "Keeps a search index of web pages up to date, and serves it, with the dashboard at /dashboard/.",
    )
    .argument(
      "[source...]",
      "web archives (.warc, .warc.gz) and folders of HTML or Markdown, loaded in order; without any, the documentation of the packages under node_modules",
    )
    .option(
      "--data <location>",
      "where the index is: a folder, memory:, postgres://USER@HOST/DATABASE, or bigtable://PROJECT/INSTANCE",
      "./webindex-data",
    )
    .option("--base <url>", "for a folder: the URL that it is published at")
    .option("--once", "load, wait until all is indexed, report and exit", false)
    .addOption(
      new Option(
        "--bulk",
        "load the first archives, or the first folder, into an empty index in one pass, without observers",
      )
        .default(false)
        .conflicts("serve"),
    )
    .addOption(
      new Option("--serve", "serve the index as it is; other processes may load and index meanwhile")
        .default(false)
        .conflicts("once"),
    )
    .option(
      "--verify",
      "compare every page with its source, and every table with an index built from scratch",
      false,
    )
    .addOption(
      new Option("--port <number>", "port of the search page").default(8080).argParser(whole(0, 65_535)),
    )
    .option(
      "--host <address>",
      "address to listen on; with 0.0.0.0, other machines can reach it",
      "127.0.0.1",
    )
    .addOption(
      new Option("--concurrency <number>", "observers that run at the same time")
        .default(64)
        .argParser(whole(1, 1_000)),
    )
    .addOption(
      new Option("--threads <number>", "threads that read pages; 0 reads them in the main thread")
        .default(0)
        .argParser(whole(0, 256)),
    )
    .option(
      "--dashboard-token-file <file>",
      "file with the token of the dashboard; without it, the dashboard answers only this machine",
    )
    .option("--dashboard-writable", "let the dashboard retry and discard what failed", false)
    .addHelpText("after", helpText)
    .exitOverride();
  command.parse(args, { from: "user" });
  if (command.opts<Options>().serve && command.args.length > 0)
    command.error(`error: --serve loads nothing; leave out ${command.args.join(" ")}, or leave out --serve`);
  return { ...command.opts<Omit<Options, "sources">>(), sources: command.args };
}

const helpText = `
Exit codes: 0 done; 1 something could not be read, a change could not be worked on, or a table is wrong; 2 the
command line cannot be meant.

Any number of further processes may share the work of an index on a disk, on PostgreSQL or on Bigtable:
  percolator worker postgres://app@localhost/index examples/webindex/app.ts

--bulk computes all tables before it stores them, in temporary files of about three times the size of the pages. What
does not fit into nine sorts of 32 MB goes there. If it is interrupted, the same command goes on.

--verify keeps what does not fit into memory in temporary files, about twice the size of the pages, in the folder that
TMPDIR names.

Examples:
  npm run webindex
  npm run webindex -- --serve --data ./docs-index                   # in one terminal, and meanwhile in another:
  npm run webindex -- --once --data ./docs-index crawl-2.warc.gz
  npm run webindex -- --once --verify crawl-1.warc.gz crawl-2.warc.gz
  npm run webindex -- --once --bulk --data ./new-index crawl-1.warc.gz crawl-2.warc.gz
  npm run webindex -- --data ./docs-index --base https://docs.example.org/ ./docs`;
