import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Cli } from "../cli.js";
import { dashboardOptions } from "./dashboard-flags.js";
import { metricsOptions } from "./metrics-flags.js";
import { watchedToken, watchedTokens } from "./token-file.js";

let cwd: string;
let nowMs = 0;
const cli = () => ({ io: { cwd }, environment: { monotonic: () => nowMs } }) as unknown as Cli;

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "percolatordb-tokens-"));
});

afterAll(() => rm(cwd, { recursive: true, force: true }));

test("changed tokens apply a second after the file changes; an empty file changes nothing", async () => {
  await writeFile(join(cwd, "tokens"), "one\n\n two \n");
  const tokens = (await watchedTokens(cli(), "--token-file", "tokens"))!;
  const first = (await watchedToken(cli(), "--token-file", "tokens"))!;
  expect([tokens(), first()]).toEqual([["one", "two"], "one"]);
  for (const [text, read] of [
    ["three\n", ["three"]],
    ["\n", ["three"]],
    ["four\nfive\n", ["four", "five"]],
  ] as const) {
    await writeFile(join(cwd, "tokens"), text);
    nowMs += 1_000;
    expect([tokens(), first()]).toEqual([read, read[0]]);
  }
  await writeFile(join(cwd, "tokens"), "six\n");
  nowMs += 999;
  expect([tokens(), first()]).toEqual([["four", "five"], "four"]);
  nowMs += 1;
  expect([tokens(), first()]).toEqual([["six"], "six"]);
  await expect(watchedTokens(cli(), "--token-file", "missing")).rejects.toThrow("missing");
  expect(await watchedTokens(cli(), "--token-file", undefined)).toBeUndefined();
});

test("the token files of metrics and dashboards are watched", async () => {
  await writeFile(join(cwd, "token"), "old\n");
  const metrics = await metricsOptions(cli(), {
    metrics: { host: "::", port: 1 },
    metricsTokenFile: "token",
  });
  const dashboard = await dashboardOptions(cli(), "memory:", undefined, { dashboardTokenFile: "token" });
  await writeFile(join(cwd, "token"), "new\n");
  nowMs += 1_000;
  expect([metrics, dashboard].map((options) => (options!.token as () => string)())).toEqual(["new", "new"]);
});
