/**
 * Simulates many power cuts: `npm run power-cut -- --help`.
 * Records processes at work, rebuilds the states that a disk may have after cuts at many moments,
 * and opens each. This runs in its own process, because LMDB may end the process over a damaged
 * file.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import { commandOf, whole } from "../../examples/support/command.js";
import { buildForCommand, nodeArguments, root } from "../support/built/files.js";
import { temporaryFolder } from "../support/databases.js";
import { cutPower, losses, restartMachine } from "./power-cut.js";
import { type Course, journalOf, type Scenario, writersOf } from "./power-scenario.js";
import { StateCheck } from "./power-state.js";
import { Random } from "./random.js";
import { readTrace, type Trace, tracedCalls } from "./trace.js";
import { doneIn } from "./twin.js";
import { openForCheck } from "./verify.js";

const courses: readonly Course[] = ["one", "two", "survivor", "killed"];

const { states, seed, slow, ...scenario } = commandOf(
  "power-cut",
  "Records processes at work, rebuilds states that a disk may have after power cuts, and opens each.",
)
  .option("--states <number>", "how many states", whole(1), 60)
  .option("--seed <text>", "decides what happens", "1")
  .addOption(
    new Option("--course <course>", "which processes work, and how they end").choices(courses).default("one"),
  )
  .addOption(
    new Option("--commit <protocol>", "the commit protocol").choices(["auto", "two-phase"]).default("auto"),
  )
  .addOption(new Option("--durability <level>", "of the database").choices(["full", "none"]).default("full"))
  .option("--most <number>", "the most operations", whole(1), 120)
  .option("--concurrency <number>", "operations at the same time", whole(1), 8)
  .option("--slow", "flushes that take 20 ms", false)
  .parse()
  .opts<Scenario & { states: number; seed: string; slow: boolean }>();
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Longer than any write here, so that strace does not truncate one. */
const maxBytes = String(64 * 1024 * 1024);

async function record(folder: string): Promise<Trace> {
  const trace = join(folder, "trace");
  const dataFile = join(folder, "data", "data.mdb");
  const paths = [dataFile, ...writersOf(scenario.course).map((writer) => journalOf(folder, writer))];
  const { error, status, stderr } = spawnSync(
    "strace",
    [
      ..."-f -y -xx --seccomp-bpf -s".split(" "),
      maxBytes,
      ..."-o".split(" "),
      trace,
      "-e",
      `trace=${tracedCalls}`,
      // Slow flushes, as on a slow disk, so that more writes are not yet safe at a cut.
      ...(slow ? ["-e", "inject=fdatasync:delay_enter=20000"] : []),
      ...paths.flatMap((path) => ["-P", path]),
      process.execPath,
      ...nodeArguments("test/crash/power-run.ts", [folder, JSON.stringify(scenario)]),
    ],
    { cwd: root, encoding: "utf8" },
  );
  if (error !== undefined) {
    throw new Error(`strace cannot be run (${error.message}). Install it: apt-get install --yes strace`);
  }
  if (status !== 0)
    throw new Error(`The traced run ended with ${status}. strace must be allowed here. ${stderr}`);
  return readTrace(trace, dataFile);
}

/**
 * Draws a moment for the cut: anywhere, or just before or after an event on which LMDB's write
 * order depends.
 */
function momentIn(trace: Trace, random: Random): number {
  const kind = random.next();
  if (kind < 0.4) return 1 + random.below(trace.lines);
  if (kind < 0.5) return random.pick(trace.told).at + 1;
  if (kind < 0.7) return beginningIn(trace, random);
  const marks = kind < 0.85 ? trace.writes.filter((write) => write.synced) : trace.syncs;
  const mark = random.pick(marks);
  return random.chance(0.5) ? mark.begun : mark.ended + 1;
}

/**
 * Draws a moment between a writer's last answer and the first flushes of the next writer. In this
 * phase the file has unsafe writes of the first writer and new writes of the next one.
 */
function beginningIn(trace: Trace, random: Random): number {
  const writer = `${random.pick(writersOf(scenario.course))}/`;
  const from = trace.told.findLast(({ name }) => name.startsWith(writer))?.at ?? 0;
  const syncs = trace.syncs.filter(({ begun }) => begun > from);
  const to = syncs[Math.min(3, syncs.length - 1)]?.ended ?? trace.lines;
  return from + 1 + random.below(Math.max(1, to - from));
}

async function main(): Promise<void> {
  buildForCommand();
  const folder = await temporaryFolder();
  const trace = await record(folder.path);
  const finalDb = await openForCheck(join(folder.path, "data"), { version: 1, late: false }, "auto");
  const order = await doneIn(finalDb);
  await finalDb.close();
  say(
    `Recorded ${trace.writes.length} writes, ${trace.syncs.length} syncs and ${trace.told.length} answers ` +
      `(${JSON.stringify(scenario)}, seed ${seed}).`,
  );
  const check = new StateCheck(scenario, order);
  let open = 0;
  let bad = 0;
  for (let index = 0; index < states; index++) {
    const random = new Random(`${seed}:${index}`);
    const cut = cutPower(trace, momentIn(trace, random), losses[index % losses.length]!, random);
    open += cut.open;
    restartMachine(cut.image);
    const path = join(folder.path, `state-${index}`);
    mkdirSync(path);
    writeFileSync(join(path, "data.mdb"), cut.image);
    // Printed before the state is opened, because opening it may end this process.
    if (process.env.POWER_CUT_VERBOSE) say(`State ${index}: line ${cut.at}, ${cut.loss}, ${cut.open} open.`);
    const told = trace.told.filter(({ at }) => at < cut.at).map(({ name }) => name);
    try {
      const options = { told, whole: index % 8 === 3, mayBeRefused: cut.safe === 0, writer: `state${index}` };
      await check.check(path, options);
      rmSync(path, { recursive: true });
    } catch (error) {
      bad++;
      say(`BAD state ${index} (line ${cut.at}, ${cut.loss}, ${cut.safe} safe, ${cut.open} open) in ${path}:`);
      say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
  }
  say(
    `${states} states, ${(open / states).toFixed(1)} writes open at a cut on average, ${check.begun} with all of the work, ${bad} bad.`,
  );
  if (bad > 0) process.exitCode = 1;
  else await folder.remove();
}

await main();
