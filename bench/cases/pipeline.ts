import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Bench, BenchCase } from "../context.js";
import { WrongResultError } from "../harness.js";
import type { PipelineReport, PipelineTask } from "../pipeline-child.js";
import { summarize } from "../statistics.js";

/**
 * The web index of `examples/webindex`: from the first page read until every observer is done. In a process of its own, so that
 * neither has the other's heap or compiled code.
 */
export const pipeline: BenchCase = {
  name: "pipeline",
  about: "the web index: pages loaded and indexed per second",
  async run(bench) {
    const reports: PipelineReport[] = [];
    const rounds = bench.options.quick ? 1 : 3;
    for (let round = 0; round < rounds; round++) {
      bench.say(`web index, ${round + 1} of ${rounds}`);
      reports.push(
        checked(await runChild(bench, { data: bench.newFolder("webindex"), source: bench.options.source })),
      );
    }
    const rates = summarize(reports.map(({ pages, ms }) => (pages / ms) * 1_000));
    const { pages, live, commits, cells } = reports[0]!;
    return {
      comparisons: [],
      figures: [
        { name: "web index, pages loaded", unit: "pages", value: pages },
        { name: "web index, live pages", unit: "pages", value: live },
        { name: "web index, commits", unit: "commits", value: commits },
        { name: "web index, cells committed", unit: "cells", value: cells },
        { name: "web index, loaded and indexed", unit: "pages/s", value: rates.median, spread: rates },
      ],
    };
  },
};

function checked(report: PipelineReport): PipelineReport {
  if (report.problems.length > 0)
    throw new WrongResultError(`The web index is wrong: ${report.problems.join("; ")}`);
  if (report.live === 0) throw new WrongResultError("The web index has no pages.");
  return report;
}

function runChild(bench: Bench, task: PipelineTask): Promise<PipelineReport> {
  const script = fileURLToPath(new URL("../pipeline-child.ts", import.meta.url));
  const child = fork(script, { execArgv: ["--import", "tsx"], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  return new Promise((resolve, reject) => {
    let errors = "";
    let report: PipelineReport | undefined;
    child.stderr?.on("data", (data: Buffer) => {
      errors = (errors + data.toString()).slice(-4_000);
    });
    child.on("message", (message) => {
      report = message as PipelineReport;
    });
    child.on("error", reject);
    child.on("exit", (code) => {
      if (report !== undefined && code === 0) resolve(report);
      else reject(new Error(`The web index ended with exit code ${code}. ${errors}`));
    });
    child.send(task, (error) => {
      if (error) reject(error);
    });
    bench.say("web index: loading");
  });
}
