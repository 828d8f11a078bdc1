import { describe, expect, test } from "vitest";
import { Emitter, eventCatalogue, Metrics, metricCatalogue, prometheusText } from "./index.js";

const cause = {
  observer: "o",
  cell: { table: "t", row: Buffer.from("r"), column: Buffer.from("c") },
  commitTimestamp: 2,
};

function figures(observer = "cluster") {
  const events = new Emitter();
  const metrics = new Metrics(events);
  const run = { observer, changes: 3, attempts: 0, error: undefined, cause };
  events.emit("commit", {
    startTimestamp: 1,
    commitTimestamp: 2,
    cells: 3,
    onlyTable: undefined,
    label: undefined,
    phases: 1,
    durationMs: 30,
    commitMs: 20,
    cause: undefined,
  });
  events.emit("run", { ...run, outcome: "committed", durationMs: 4, delayMs: 1_500 });
  events.emit("run", { ...run, outcome: "parked", durationMs: 4, delayMs: undefined });
  events.emit("request", { kind: "read" });
  return metrics.snapshot();
}

describe("the text for Prometheus", () => {
  const lines = prometheusText(figures()).split("\n");

  test("has help, type and samples of each metric", () => {
    for (const { name, kind } of metricCatalogue)
      expect(lines.filter((line) => line === `# TYPE percolator_${name} ${kind}`)).toHaveLength(1);
    expect(lines).toContain("percolator_commits_total 1");
    expect(lines).toContain('percolator_runs_total{observer="cluster",outcome="committed"} 1');
    expect(lines).toContain('percolator_runs_total{observer="cluster",outcome="parked"} 1');
    expect(lines).toContain('percolator_requests_total{kind="read"} 1');
  });

  test("has distributions as cumulative histograms in seconds", () => {
    const of = (end: string) =>
      lines.find((line) => line.startsWith(`percolator_run_delay_seconds_${end}`))?.split(" ")[1];
    expect(of('bucket{observer="cluster",le="1"}')).toBe("0");
    expect(of('bucket{observer="cluster",le="2.5"}')).toBe("1");
    expect(of('bucket{observer="cluster",le="+Inf"}')).toBe("1");
    expect(of("sum")).toBe("1.5");
    expect(of("count")).toBe("1");
    // A change is parked after a run that was told before.
    expect(lines).toContain('percolator_run_duration_seconds_count{observer="cluster"} 1');
    expect(lines).toContain("percolator_transaction_duration_seconds_sum 0.03");
  });

  test("Prometheus can read each line, whatever the name of an observer", () => {
    const text = prometheusText(figures('a "b"\\\nc'), [], { job: "x" });
    const sample =
      /^percolator_[a-z_]+\{job="x"(,[a-z]+="([^"\\\n]|\\\\|\\"|\\n)*")*\} \d+(\.\d+)?(e[+-]\d+)?$/;
    const wrong = text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("# ") && !sample.test(line));
    expect(wrong).toEqual([]);
    expect(text).toContain('observer="a \\"b\\"\\\\\\nc"');
  });

  test("each metric has the labels that the catalogue names", () => {
    for (const { labels, read } of metricCatalogue)
      for (const sample of read(figures())) expect(Object.keys(sample.labels)).toEqual(labels);
  });
});

test("every event has a description", () => {
  expect(Object.values(eventCatalogue).filter((about) => !/^[A-Z].*\.$/.test(about))).toEqual([]);
});
