import { beforeEach, describe, expect, it, vi } from "vitest";
import type { CommandLine } from "../../../../test/support/command-line.js";
import { libraryCommandLine } from "../../../../test/support/library.js";
import { Samples } from "../../bench/samples.js";
import { Progress } from "../../print/progress.js";

let cli: CommandLine;

beforeEach(async () => {
  cli = await libraryCommandLine();
});

const quick = ["--duration", "20ms", "--rows", "700", "--concurrency", "4", "--value-bytes", "10"];

describe("bench", () => {
  it("measures, prints its configuration, and leaves nothing behind", async () => {
    const before = (await cli.run(["export", "data"])).lines.filter((line) => line.startsWith('{"table":'));
    const { code, documents: printed } = await cli.run(["bench", "data", ...quick, "--json"]);
    expect(code).toBe(0);
    const { configuration, results } = printed[0] as {
      configuration: Record<string, unknown>;
      results: readonly Record<string, number>[];
    };
    expect(configuration).toMatchObject({
      durationMs: 20,
      concurrency: 4,
      rows: 700,
      valueBytes: 10,
      commit: "one-phase",
    });
    expect(results.map(({ name }) => name)).toEqual([
      "load, 500 rows at once",
      "read a cell",
      "write a cell",
      "read one, write two",
    ]);
    for (const { operations, perSecond, p50Ms, p99Ms, maxMs } of results.slice(1)) {
      expect(operations).toBeGreaterThanOrEqual(4);
      expect(perSecond).toBeGreaterThan(0);
      expect(p50Ms).toBeLessThanOrEqual(p99Ms!);
      expect(p99Ms).toBeLessThanOrEqual(maxMs!);
    }
    const after = (await cli.run(["export", "data"])).lines.filter((line) => line.startsWith('{"table":'));
    expect(after).toEqual(before);
    const { lines } = await cli.run(["bench", "data", ...quick]);
    expect(lines[0]).toMatch(/^store {4}.*commits in one-phase$/);
    expect(lines.find((line) => line.startsWith("WHAT"))).toContain("P99 MS");
  });

  it("loads fewer rows at once if they are large, so that a transaction can hold them", async () => {
    const large = ["--duration", "1ms", "--rows", "9", "--concurrency", "1", "--value-bytes", "1000000"];
    const { code, documents } = await cli.run(["bench", "data", ...large, "--json"]);
    expect(code).toBe(0);
    const { results } = documents[0] as { results: readonly { name: string; operations: number }[] };
    expect(results[0]).toMatchObject({ name: "load, 8 rows at once", operations: 9 });
    expect((await cli.run(["export", "data"])).stdout).not.toContain('{"table":"percolator_bench"');
  });

  it("stops on a signal, and removes its rows", async () => {
    // The first progress is shown when rows are stored.
    using _ = vi.spyOn(Progress.prototype, "show").mockImplementationOnce(() => command.signal("SIGINT"));
    const command = cli.start(["bench", "data", "--duration", "1h", "--rows", "100"]);
    expect(await command.outcome).toMatchObject({
      code: 130,
      stderr: expect.stringContaining("removing the rows; if the command is ended before that, they stay"),
    });
    expect((await cli.run(["export", "data"])).stdout).not.toContain('{"table":"percolator_bench"');
  });
});

describe("samples", () => {
  it("give quantiles, and keep a selection of very many values", () => {
    let seed = 1;
    const samples = new Samples(() => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    });
    expect(samples.quantile(0.5)).toBeUndefined();
    for (let value = 1; value <= 100; value++) samples.add(value);
    expect([0.5, 0.99, 1].map((share) => samples.quantile(share))).toEqual([50, 99, 100]);
    for (let value = 101; value <= 400_000; value++) samples.add(value);
    expect(samples.count).toBe(400_000);
    expect(samples.quantile(1)).toBe(400_000);
    expect(Math.abs(samples.quantile(0.5)! - 200_000)).toBeLessThan(4_000);
  });
});
