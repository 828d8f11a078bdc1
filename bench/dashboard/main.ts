/**
 * How smoothly the dashboard's pages are drawn while a real pipeline commits so many changes a second, beside an idle page in the
 * same browser. The load has a process of its own, as a worker with a dashboard has.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import type { Browser } from "playwright-core";
import { openPage, startBrowser } from "../../test/browser/support/browser.js";
import { buildPages } from "../../test/browser/support/pages.js";
import { type Frames, framesOf } from "./frames.js";

interface Options {
  readonly seconds: number;
  readonly rate: number;
}

const say = (line: string) => process.stdout.write(`${line}\n`);

const views = ["overview", "pipeline", "transactions", "workers"] as const;
/** What happens while a page is loaded says nothing. */
const warmUpMs = 3_000;

function parseOptions(args: readonly string[]): Options {
  const command = new Command("frames")
    .description("Measures the frames of the dashboard's pages under a load, beside an idle page.")
    .option("--seconds <number>", "how long to look at each page", whole, 15)
    .option("--rate <number>", "changes a second", whole, 1_000)
    .exitOverride();
  command.parse([...args], { from: "user" });
  return command.opts<Options>();
}

function whole(text: string): number {
  const number = Number(text);
  if (Number.isInteger(number) && number > 0) return number;
  throw new InvalidArgumentError("It must be a whole number above 0.");
}

async function main(args: readonly string[]): Promise<void> {
  const { seconds, rate } = parseOptions(args);
  const pages = await buildPages();
  const browser = await startBrowser();
  const child = startLoad(rate, pages.path);
  try {
    const url = await addressOf(child);
    say(
      `Chromium ${browser.version()}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model.trim()}`,
    );
    say(
      `${rate} changes a second asked for, ten a transaction, a run for each, memory store; each page looked at for ${seconds} s, 1280 × 860, no GPU`,
    );
    say("");
    say("page                frames  p50 ms  p99 ms  max ms  long tasks  longest ms  heap MB  commits/s");
    report("idle, blank", await look(browser, "about:blank", seconds), undefined);
    for (const view of views) {
      const frames = await look(browser, `${url}#/${view}`, seconds);
      report(view, frames, await commitsPerSecond(url));
    }
  } finally {
    child.kill("SIGTERM");
    await once(child, "exit");
    await browser.close();
    await pages.remove();
  }
}

/** The pipeline and its dashboard, in a process of their own. */
function startLoad(rate: number, pages: string): ChildProcess {
  const script = fileURLToPath(new URL("load-process.ts", import.meta.url));
  const args = ["--import", "tsx", script, String(rate), pages];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  for await (const chunk of stdout!.iterator({ destroyOnReturn: false })) return String(chunk).trim();
  throw new Error("The process of the load ended before it served its dashboard");
}

async function look(browser: Browser, url: string, seconds: number): Promise<Frames> {
  const { page, close } = await openPage(browser, url);
  try {
    await page.waitForTimeout(warmUpMs);
    return await framesOf(page, seconds);
  } finally {
    await close();
  }
}

async function commitsPerSecond(url: string): Promise<number> {
  const response = await fetch(new URL("api/overview", url));
  return ((await response.json()) as { readonly commitsPerSecond: number }).commitsPerSecond;
}

function report(name: string, frames: Frames, commits: number | undefined): void {
  const { count, p50Ms, p99Ms, maxMs, longTasks, maxTaskMs, heapMb } = frames;
  const figures = [
    String(count).padStart(6),
    p50Ms.toFixed(1).padStart(7),
    p99Ms.toFixed(1).padStart(7),
    maxMs.toFixed(1).padStart(7),
    String(longTasks).padStart(11),
    maxTaskMs.toFixed(0).padStart(11),
    heapMb.toFixed(1).padStart(8),
    (commits === undefined ? "–" : commits.toFixed(0)).padStart(10),
  ];
  say(`${name.padEnd(19)} ${figures.join(" ")}`);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode;
}
