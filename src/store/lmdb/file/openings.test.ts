import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type Environment, systemEnvironment } from "../../../environment/index.js";
import { Openings } from "./openings.js";

let folder: string;
let file: string;
/** How many milliseconds were waited. Waiting takes no time. */
let waited: number;
let whileWaiting: () => void;

const environment: Environment = {
  ...systemEnvironment,
  setTimer: (action, milliseconds) => {
    waited += milliseconds;
    whileWaiting();
    systemEnvironment.defer(action);
    return { cancel: () => undefined };
  },
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "percolatordb-openings-"));
  file = join(folder, "lock.mdb.opening");
  waited = 0;
  whileWaiting = () => undefined;
});

afterEach(async () => {
  await chmod(folder, 0o700);
  await rm(folder, { recursive: true });
});

const openings = () => new Openings(folder, environment);
/** The id of a process that has ended. */
const ended = () => spawnSync(process.execPath, ["--version"]).pid;

it("an opening runs for the others from its announcement until it is withdrawn", async () => {
  const [own, other] = [openings(), openings()];
  expect(other.isRunning()).toBe(false);
  await own.announce();
  expect([own.isRunning(), other.isRunning()]).toEqual([false, true]);
  own.withdraw();
  expect(other.isRunning()).toBe(false);
  expect(await readdir(folder)).toEqual([]);
});

it("one opening waits for another, and withdraws only its own announcement", async () => {
  const [first, second] = [openings(), openings()];
  await first.announce();
  let looks = 0;
  whileWaiting = () => {
    if (++looks === 3) first.withdraw();
  };
  await second.announce();
  expect(looks).toBeGreaterThanOrEqual(3);
  first.withdraw();
  expect(first.isRunning()).toBe(true);
  second.withdraw();
  expect(first.isRunning()).toBe(false);
});

it("an announcement of a process that has ended is not waited for, and is replaced", async () => {
  await writeFile(file, `${ended()}.x`);
  const [own, other] = [openings(), openings()];
  await other.ended();
  expect([waited, other.isRunning()]).toEqual([0, false]);
  await own.announce();
  expect(other.isRunning()).toBe(true);
  expect(await readFile(file, "utf8")).toMatch(new RegExp(`^${process.pid}\\.`));
  own.withdraw();
  expect(await readdir(folder)).toEqual([]);
});

it.each([
  { what: "a process that is stopped", content: `${process.pid}.x` },
  { what: "a process that has not written its id", content: "" },
])("$what is waited for 5 s, and once", async ({ content }) => {
  await writeFile(file, content);
  const own = openings();
  await own.ended();
  expect(waited).toBe(4_999);
  await own.ended();
  expect([waited, own.isRunning()]).toEqual([4_999, false]);
  // Another announcement is waited for again.
  await writeFile(file, `${process.pid}.y`);
  expect(own.isRunning()).toBe(true);
});

it("waiting on this thread ends with the announcement's process", async () => {
  const child = spawnSync("sh", ["-c", `sleep 0.2 >/dev/null 2>&1 & printf %s.x $! > '${file}'`]);
  expect(child.status).toBe(0);
  const own = openings();
  expect(own.isRunning()).toBe(true);
  own.waitUntilEnded();
  expect(own.isRunning()).toBe(false);
});

it("without the right to write to the folder, a process opens it unannounced", async () => {
  // Writing to a folder that does not exist fails for every user.
  const own = new Openings(join(folder, "absent"), environment);
  await own.announce();
  expect(own.isRunning()).toBe(false);
  own.withdraw();
});
