import { Command, InvalidArgumentError } from "commander";

export interface PeerOptions {
  /** Web archives or folders; none: the documentation in `node_modules`. */
  readonly sources: readonly string[];
  readonly rounds: number;
  /** Of load at half of the full speed, at the most. */
  readonly seconds: number;
  /** Of percolatordb: processes that index when everything is loaded, the one that loads included. */
  readonly processes: number;
  /** Of PostgreSQL: worker processes, and the jobs of each at a time. */
  readonly workers: number;
  readonly concurrency: number;
  /** The most changes that a job takes; undefined: by task, as was fastest. */
  readonly batch: number | undefined;
  readonly quick: boolean;
  readonly json: string | undefined;
}

/** Defaults of a whole run, and of `--quick`. */
const sizes = { full: { rounds: 5, seconds: 20 }, quick: { rounds: 1, seconds: 5 } } as const;
/** The fastest of 1 and 2 workers with 4, 8, 16 and 32 jobs each, on two processors. */
const fastest = { workers: 2, concurrency: 4 } as const;

/** The faster of 1 and 2 for some hundred pages; for 10,000 two are. */
const processes = 1;

const examples = `
Examples:
  $ npm run peer -- --quick
  $ npm run peer -- --rounds 7 --json peer.json crawl.warc.gz
  $ npm run peer -- --workers 1 --concurrency 16 crawl.warc.gz

A PostgreSQL server has to be installed; it is started in a temporary folder. The exit code is 1 where an index differs from the
batch twin, 2 for wrong usage, else 0: no speed is an error.`;

/** Parses arguments; throws a `CommanderError` for wrong ones and for --help, after printing. */
export function parseOptions(args: readonly string[]): PeerOptions {
  const command = new Command("peer")
    .description(
      "The web index on percolatordb beside the same on PostgreSQL with graphile-worker, and beside a rebuild in memory: pages a " +
        "second, the delay from a page to its being found, and what is left when processes are killed.",
    )
    .argument("[source...]", "web archives or folders (default: the documentation in node_modules)")
    .option(
      "--rounds <number>",
      `times that each side indexes everything (default: ${sizes.full.rounds})`,
      whole,
    )
    .option(
      "--seconds <number>",
      `seconds of load at half speed, at the most (default: ${sizes.full.seconds})`,
      whole,
    )
    .option(
      "--processes <number>",
      "processes of percolatordb's side when everything is indexed, the one that loads included",
      whole,
      processes,
    )
    .option("--workers <number>", "worker processes of PostgreSQL's side", whole, fastest.workers)
    .option("--concurrency <number>", "jobs of each at a time", whole, fastest.concurrency)
    .option(
      "--batch <number>",
      "the most changes that a job takes; 1: each change is a job (default: by task, as was fastest)",
      whole,
    )
    .option("--quick", "one round and less load: rougher figures")
    .option("--json <file>", "where to write the figures")
    .addHelpText("after", examples)
    .exitOverride();
  command.parse([...args], { from: "user" });
  const { quick = false, ...given } = command.opts<
    Partial<PeerOptions> & typeof fastest & { processes: number }
  >();
  const { rounds, seconds } = quick ? sizes.quick : sizes.full;
  return { rounds, seconds, json: undefined, batch: undefined, ...given, quick, sources: command.args };
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}
