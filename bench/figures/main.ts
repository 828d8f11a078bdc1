/** Measures and draws all figures of docs/performance.md. See `npm run figures -- --help`. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { figures } from "./all/index.js";
import { readableOf } from "./draw.js";
import type { Figure, Measurement } from "./figure.js";
import { describeMachine, revisionOf } from "./machine.js";
import { commandLine, madeWith, measure, NotMeasuredError } from "./measure.js";
import { type FiguresOptions, parseOptions } from "./options.js";
import { Progress } from "./progress.js";
import { type Place, publish } from "./publish.js";
import { merged, noResults, parseResults, type Results, readResults } from "./results.js";

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const ownFolder = at("../../docs/figures/performance");
const ownPage = at("../../docs/performance.md");

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(args: readonly string[]): Promise<number> {
  const options = parseOptions(args, figures);
  const chosen = figures.filter(({ name }) => options.only.length === 0 || options.only.includes(name));
  if (options.list) return list(chosen, options);
  const place: Place = {
    folder: options.out ?? ownFolder,
    page: options.out === undefined ? ownPage : undefined,
  };
  if (options.from.length > 0) {
    const results = options.from.map(parseResults).reduce(merged, noResults);
    publish(figures, results, place);
    say(`Drawn into ${place.folder}`);
    return 0;
  }
  return await measureAll(chosen, options, place);
}

function list(chosen: readonly Figure[], { size, archives }: FiguresOptions): number {
  for (const { name, measurements } of chosen)
    for (const each of madeWith(measurements, archives)) say(`${name}: ${commandLine(each, size, archives)}`);
  return 0;
}

async function measureAll(chosen: readonly Figure[], options: FiguresOptions, place: Place): Promise<number> {
  const cancelling = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => cancelling.abort());
  const run = new Run(options, cancelling.signal, chosen);
  const { readable, dropped } = readableOf(figures, readResults(join(place.folder, "results.json")));
  for (const name of dropped)
    say(`What was measured before of ${name} cannot be read any more, and is left out.`);
  let results = readable;
  for (const figure of chosen) {
    const measured = await run.measure(figure);
    try {
      const joined = merged(results, { figures: { [figure.name]: measured } });
      publish(figures, joined, place);
      results = joined;
    } catch (error) {
      run.failed(figure.name, error);
    }
    if (cancelling.signal.aborted) break;
  }
  say(run.summary());
  say(`Written to ${place.folder}`);
  if (cancelling.signal.aborted) return 130;
  return run.failures === 0 ? 0 : 1;
}

type FigureMeasured = Results["figures"][string];

/** The measurements of one run of this command. */
class Run {
  readonly #options: FiguresOptions;
  readonly #signal: AbortSignal;
  readonly #machine = describeMachine();
  // Before anything of it is published into the clone.
  readonly #revision = revisionOf();
  readonly #all: number;
  readonly #lines: string[] = [];
  #begun = 0;
  failures = 0;

  constructor(options: FiguresOptions, signal: AbortSignal, chosen: readonly Figure[]) {
    this.#options = options;
    this.#signal = signal;
    this.#all = chosen.flatMap(({ measurements }) => madeWith(measurements, options.archives)).length;
  }

  /** What could be measured of a figure. */
  async measure(figure: Figure): Promise<FigureMeasured> {
    const found: FigureMeasured = {};
    for (const each of madeWith(figure.measurements, this.#options.archives)) {
      if (this.#signal.aborted) break;
      const measured = await this.#one(figure, each);
      if (measured !== undefined) found[each.name] = measured;
    }
    return found;
  }

  failed(what: string, error: unknown): void {
    this.failures++;
    this.#lines.push(`${what}: FAILED`);
    say(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }

  summary(): string {
    return ["", ...this.#lines].join("\n");
  }

  async #one(figure: Figure, each: Measurement): Promise<FigureMeasured[string] | undefined> {
    const { size, archives } = this.#options;
    const what = `${figure.name}, ${each.name}`;
    say(
      `[${++this.#begun} of ${this.#all}] ${commandLine(each, size, archives)} (at most ${each.minutes[size]} minutes)`,
    );
    const progress = new Progress();
    try {
      const measured = await measure(each, {
        size,
        archives,
        machine: this.#machine,
        revision: this.#revision,
        signal: this.#signal,
        onLine: (line) => progress.say(line),
      });
      this.#lines.push(`${what}: ${measured.seconds.toFixed(0)} s`);
      return measured;
    } catch (error) {
      if (error instanceof NotMeasuredError && error.isCancelled) this.#lines.push(`${what}: cancelled`);
      else this.failed(what, error);
      return undefined;
    } finally {
      progress.end();
    }
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
