import { duration } from "../../format/times.js";
import { MarkAt } from "../../parts/mark.js";
import type { Level } from "../../state/health.js";

interface Props {
  readonly p50Ms: number | undefined;
  readonly p99Ms: number | undefined;
  readonly oldestMs: number | undefined;
  readonly level: Level;
}

const width = 180;
const height = 18;
const inset = 7;
const minMs = 1;
const maxMs = 3_600_000;

/** A position on a logarithmic scale from a millisecond to an hour. */
function at(ms: number): number {
  const part = Math.log(Math.min(maxMs, Math.max(minMs, ms)) / minMs) / Math.log(maxMs / minMs);
  return inset + part * (width - 2 * inset);
}

/** A bar from p50 to p99, and a mark at the age of the oldest change. */
export function FreshnessScale({ p50Ms, p99Ms, oldestMs, level }: Props) {
  const said = [
    p50Ms === undefined
      ? "no recent run"
      : `half within ${duration(p50Ms)}, 99 of 100 within ${duration(p99Ms)}`,
    oldestMs === undefined ? "nothing waits" : `the oldest has waited ${duration(oldestMs)}`,
  ].join("; ");
  return (
    <svg class="freshness-scale" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={said}>
      <title>{said}</title>
      {[1_000, 60_000].map((ms) => (
        <line key={ms} class="tick" x1={at(ms)} x2={at(ms)} y1={2} y2={height - 2} />
      ))}
      <line class="base" x1={inset} x2={width - inset} y1={height / 2} y2={height / 2} />
      {p50Ms === undefined ? null : (
        <line
          class="bar"
          x1={at(p50Ms)}
          x2={Math.max(at(p50Ms) + 1, at(p99Ms ?? p50Ms))}
          y1={height / 2}
          y2={height / 2}
        />
      )}
      {p50Ms === undefined ? null : <circle class="half" cx={at(p50Ms)} cy={height / 2} r={3.2} />}
      {oldestMs === undefined ? null : <MarkAt level={level} x={at(oldestMs)} y={height / 2} size={10} />}
    </svg>
  );
}
