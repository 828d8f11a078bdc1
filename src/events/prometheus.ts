import { checkArgument } from "../errors/index.js";
import { type MetricDescription, type MetricSample, metricCatalogue } from "./catalogue.js";
import { type Distribution, distributionBounds } from "./distribution.js";
import type { MetricsSnapshot } from "./metrics-snapshot.js";

/** The prefix of each metric's name. */
export const metricPrefix = "percolator_";

/** A metric to expose: its description and its current samples. */
export interface ExposedMetric extends Pick<MetricDescription, "name" | "kind" | "about"> {
  readonly samples: readonly MetricSample[];
}

/**
 * The metrics of a process in Prometheus' text format, version 0.0.4. `labels` are added to every
 * sample.
 *
 * @param more Further metrics, after those of the process.
 */
export function prometheusText(
  metrics: MetricsSnapshot,
  more: readonly ExposedMetric[] = [],
  labels: Readonly<Record<string, string>> = {},
): string {
  checkArgument(
    "prometheusText",
    "the metrics of a database, `db.metrics`",
    metrics,
    metrics?.commits !== undefined,
  );
  const own = metricCatalogue.map((description) => ({ ...description, samples: description.read(metrics) }));
  return exposedText([...own, ...more], labels);
}

/** Formats any metrics in Prometheus' text format. */
export function exposedText(
  metrics: readonly ExposedMetric[],
  labels: Readonly<Record<string, string>> = {},
): string {
  return metrics.map((metric) => exposed(metric, labels)).join("");
}

function exposed(
  { name, kind, about, samples }: ExposedMetric,
  labels: Readonly<Record<string, string>>,
): string {
  if (samples.length === 0) return "";
  const full = metricPrefix + name;
  const head = `# HELP ${full} ${about.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${full} ${kind}\n`;
  const lines = samples.flatMap((sample) => linesOf(full, { ...labels, ...sample.labels }, sample.value));
  return `${head}${lines.join("\n")}\n`;
}

function linesOf(
  name: string,
  labels: Readonly<Record<string, string>>,
  value: number | Distribution,
): readonly string[] {
  if (typeof value === "number") return [`${name}${labelText(labels)} ${value}`];
  const upTo = value.upTo.map(
    (count, index) =>
      `${name}_bucket${labelText({ ...labels, le: `${distributionBounds[index]! / 1_000}` })} ${count}`,
  );
  return [
    ...upTo,
    `${name}_bucket${labelText({ ...labels, le: "+Inf" })} ${value.count}`,
    `${name}_sum${labelText(labels)} ${value.sum / 1_000}`,
    `${name}_count${labelText(labels)} ${value.count}`,
  ];
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return "";
  return `{${entries.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
