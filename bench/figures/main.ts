/** Measures and draws all figures of docs/performance.md: `npm run figures -- --help`. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Command } from "commander";
import { describeMachine, measureFlushes, revisionOf } from "../harness/machine.js";
import { exitWith, oneOf, repeated, say, sayProgress, secondsSince } from "../harness/program.js";
import { figures } from "./all.js";
import type { Figure, Measurement, Size } from "./figure.js";
import { commandLine, type MeasureOptions, madeWith, measure } from "./measure.js";
import { type Place, publish } from "./page.js";
import {
  type FigureMeasured,
  merged,
  noResults,
  readableOf,
  readResults,
  readResultsIfAny,
} from "./results.js";

interface Options {
  readonly full?: boolean;
  readonly only?: readonly string[];
  readonly archive?: readonly string[];
  readonly from?: readonly string[];
  readonly out?: string;
  readonly list?: boolean;
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ownPlace = { folder: at("../../docs/figures/performance"), page: at("../../docs/performance.md") };

const help = `
Figures:
${figures.map(({ name, about }) => `  ${name.padEnd(15)}${about}`).join("\n")}

Examples:
  $ npm run figures                                  # all of it, small: meant to take under 20 minutes
  $ npm run figures -- --full                        # as docs/performance.md has it; leave the machine alone meanwhile
  $ npm run figures -- --only delay --only oracle    # those again; the others stay as they are
  $ npm run figures -- --full --archive crawl-1.warc.gz --archive crawl-2.warc.gz
  $ npm run figures -- --from docs/figures/performance/results.json   # draws again, measures nothing
  $ npm run figures -- --out /tmp/figures            # elsewhere: the page is left alone

One measurement runs after the other. The results of a figure are saved when all of its measurements are done, so a
cancelled run keeps what it had. If a measurement fails, its last result stays. A run of all figures also says how long
it took, if nothing failed.

The exit code is 1 if a figure could not be measured or drawn, 2 for wrong usage, 130 if it was cancelled, else 0.`;

await exitWith(async () => {
  const options = new Command("figures")
    .description("Runs the measurements of docs/performance.md, and brings its tables and plots up to date.")
    .option("--full", "as large as the page wants them: hours")
    .option(
      "--only <name>",
      "this figure only; may be repeated",
      repeated(oneOf(figures.map(({ name }) => name))),
    )
    .option(
      "--archive <file>",
      "a web archive for the figures that index pages, in the order of the crawls; may be repeated (default: the documentation in node_modules)",
      repeated(String),
    )
    .option("--from <file...>", "draw these files of results, and measure nothing")
    .option(
      "--out <folder>",
      "where to write results, plots and tables (default: where docs/performance.md has them)",
    )
    .option("--list", "print the command lines, and run none")
    .addHelpText("after", help)
    .allowExcessArguments(false)
    .exitOverride()
    .parse(process.argv.slice(2), { from: "user" })
    .opts<Options>();
  const { only = [], archive: archives = [], from = [], out } = options;
  const size = options.full === true ? "full" : "small";
  const chosen = figures.filter(({ name }) => only.length === 0 || only.includes(name));
  const place: Place = out === undefined ? ownPlace : { folder: out, page: undefined };
  if (options.list === true) {
    for (const { name, measurements } of chosen)
      for (const each of madeWith(measurements, archives))
        say(`${name}: ${commandLine(each, size, archives)}`);
    return 0;
  }
  if (from.length > 0) {
    publish(figures, from.map(readResults).reduce(merged, noResults), place);
    say(`Drawn into ${place.folder}`);
    return 0;
  }
  return await measureAll(chosen, size, archives, place);
});

async function measureAll(
  chosen: readonly Figure[],
  size: Size,
  archives: readonly string[],
  place: Place,
): Promise<number> {
  const cancelling = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => cancelling.abort());
  const { signal } = cancelling;
  const [date, began] = [new Date().toISOString(), performance.now()];
  // The revision is read before anything is written into the clone.
  const machine = { ...describeMachine(), flushMs: measureFlushes() };
  const options: MeasureOptions = { size, archives, machine, revision: revisionOf(), signal };
  const read = readableOf(figures, readResultsIfAny(join(place.folder, "results.json")));
  for (const name of read.dropped)
    say(`The old results of ${name} cannot be drawn any more, and are left out.`);
  let results = read.readable;
  const summary: string[] = [];
  let failures = 0;
  const failed = (what: string, error: unknown) => {
    failures++;
    summary.push(`${what}: FAILED`);
    say(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  };
  for (const figure of chosen) {
    const found: Record<string, FigureMeasured[string]> = {};
    for (const each of madeWith(figure.measurements, archives)) {
      const what = `${figure.name}, ${each.name}`;
      if (signal.aborted) continue;
      say(`${commandLine(each, size, archives)} (at most ${each.minutes[size]} minutes)`);
      try {
        const measured = await measureShown(each, options);
        if (measured !== undefined) found[each.name] = measured;
        summary.push(`${what}: ${measured === undefined ? "cancelled" : `${measured.seconds.toFixed(0)} s`}`);
      } catch (error) {
        failed(what, error);
      }
    }
    try {
      const joined = merged(results, { figures: { [figure.name]: found } });
      publish(figures, joined, place);
      results = joined;
    } catch (error) {
      failed(figure.name, error);
    }
  }
  const seconds = Math.round(secondsSince(began));
  if (chosen.length === figures.length && failures === 0 && !signal.aborted) {
    const { flushMs: _, ...described } = machine;
    const whole = {
      date,
      seconds,
      revision: options.revision,
      machine: described,
      archives: archives.length,
    };
    publish(figures, merged(results, { figures: {}, runs: { [size]: whole } }), place);
  }
  say(["", ...summary, `in all: ${seconds} s`, `Written to ${place.folder}`].join("\n"));
  return signal.aborted ? 130 : failures === 0 ? 0 : 1;
}

/** Shows on a terminal how long the measurement has run, and its last line of output. */
async function measureShown(each: Measurement, options: MeasureOptions) {
  const began = performance.now();
  let last = "";
  const show = () => sayProgress(`${secondsSince(began).toFixed(0)} s ${last}`.slice(0, 110));
  const timer = setInterval(show, 1_000);
  try {
    return await measure(each, {
      ...options,
      onLine: (line) => {
        last = line;
      },
    });
  } finally {
    clearInterval(timer);
    sayProgress("");
  }
}
