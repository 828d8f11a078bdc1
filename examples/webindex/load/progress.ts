import { basename } from "node:path";
import type { Progress } from "../sources/index.js";

/** How far a load has come. */
export interface Stage {
  /** The activity, and the file that it works on. */
  readonly doing: string;
  /** Pages so far. */
  readonly pages: number;
  /** The finished share of the load, from 0 to 1. `undefined` if unknown. */
  readonly part: number | undefined;
  /** Changes that observers must still handle, if they were counted. */
  readonly waiting: number | undefined;
}

const redrawMs = 200;
/** The time over which the rate is averaged. */
const windowMs = 10_000;

/**
 * A line on the terminal that shows the progress, the rate and the remaining time. Prints nothing
 * if there is no terminal.
 */
export class ProgressLine {
  readonly #out: NodeJS.WriteStream;
  readonly #timer: NodeJS.Timeout | undefined;
  #stage: Stage | undefined;
  #marks: { readonly at: number; readonly pages: number; readonly part: number }[] = [];
  #drawn = false;

  constructor(out: NodeJS.WriteStream = process.stderr) {
    this.#out = out;
    if (!out.isTTY) return;
    this.#timer = setInterval(() => this.#draw(), redrawMs);
    this.#timer.unref();
  }

  /** The progress as text, for output other than the terminal. */
  get text(): string | undefined {
    return this.#stage === undefined ? undefined : describe(this.#stage, this.#rate(), this.#left());
  }

  set(stage: Stage): void {
    if (stage.doing !== this.#stage?.doing) this.#marks = [];
    this.#stage = stage;
    const at = performance.now();
    const last = this.#marks.at(-1);
    if (last !== undefined && at - last.at < redrawMs) return;
    this.#marks.push({ at, pages: stage.pages, part: stage.part ?? 0 });
    while (this.#marks.length > 2 && at - this.#marks[0]!.at > windowMs) this.#marks.shift();
  }

  /** Erases the line so that other output can be printed. */
  clear(): void {
    this.#stage = undefined;
    this.#marks = [];
    this.#erase();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  /** The current rate in pages per second. */
  #rate(): number | undefined {
    const first = this.#marks[0];
    const last = this.#marks.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < redrawMs) return undefined;
    return ((last.pages - first.pages) * 1_000) / (last.at - first.at);
  }

  /** The estimated remaining seconds. */
  #left(): number | undefined {
    const first = this.#marks[0];
    const last = this.#marks.at(-1);
    if (first === undefined || last === undefined || last.part <= first.part) return undefined;
    return ((1 - last.part) * (last.at - first.at)) / (last.part - first.part) / 1_000;
  }

  #draw(): void {
    const text = this.text;
    if (text === undefined) return;
    this.#out.write(`\r\x1b[K${text.slice(0, (this.#out.columns || 80) - 1)}`);
    this.#drawn = true;
  }

  #erase(): void {
    if (this.#drawn) this.#out.write("\r\x1b[K");
    this.#drawn = false;
  }
}

/** Returns the stage of a load that has reached an item of its source. */
export function loadStage(path: string, item: Progress, pages: number): Stage {
  const part = item.total === 0 ? undefined : Math.min(1, item.position / item.total);
  return { doing: `loading ${basename(path)}`, pages, part, waiting: undefined };
}

function describe(stage: Stage, rate: number | undefined, left: number | undefined): string {
  const parts = [stage.doing];
  if (stage.part !== undefined) parts.push(`${Math.floor(stage.part * 100)}%`);
  if (stage.pages > 0) parts.push(`${stage.pages.toLocaleString("en")} pages`);
  if (stage.waiting !== undefined) parts.push(`${stage.waiting.toLocaleString("en")} changes to work on`);
  if (rate !== undefined && stage.pages > 0) parts.push(`${rate.toFixed(0)} pages/s`);
  if (left !== undefined) parts.push(`${duration(left)} left`);
  return parts.join("  ");
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
