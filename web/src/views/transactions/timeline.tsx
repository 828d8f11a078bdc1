import type { TransactionDetail, TransactionSpan } from "../../../../src/dashboard/api/index.js";
import { columnName, keyLine, oneLine } from "../../format/text.js";
import { duration } from "../../format/times.js";
import { Empty } from "../../parts/notices.js";

const lineHeight = 22;
const labelWidth = 150;
const width = 560;
const right = 62;
/**
 * Most lines to draw, and most reads among them. If there are more reads, the longest ones are
 * drawn.
 */
const maxLines = 80;
const maxReads = 16;

const kinds = { read: "read", wait: "wait", step: "step" } as const;

/** The parts of a transaction that took time, one on each line, from its start to its end. */
export function Timeline({
  transaction: { spans, durationMs },
}: {
  readonly transaction: TransactionDetail;
}) {
  if (spans.length === 0) return <Empty title="No timeline was kept.">Only its totals are remembered.</Empty>;
  const endMs = Math.max(durationMs, ...spans.map(({ toMs }) => toMs), 0.001);
  const lines = shownOf(spans);
  const height = lines.length * lineHeight + 26;
  const at = (ms: number) => labelWidth + (ms / endMs) * (width - labelWidth - right);
  return (
    <div class="timeline-scroll" tabIndex={0} role="region" aria-label="Timeline">
      <svg class="timeline" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={said(spans, endMs)}>
        <Ticks endMs={endMs} at={at} height={height} />
        {lines.map((span, index) => (
          <Line key={`${index}`} span={span} y={20 + index * lineHeight} at={at} />
        ))}
      </svg>
      {spans.length > lines.length ? <p class="faint">and {spans.length - lines.length} more</p> : null}
      <ul class="legend" aria-label="Legend">
        {Object.values(kinds).map((kind) => (
          <li key={kind}>
            <svg viewBox="0 0 22 10" aria-hidden="true">
              <rect class={`span ${kind}`} width="22" height="10" rx="2" />
              {kind === "wait" ? <WaitStripes x={0} y={0} width={22} height={10} /> : null}
            </svg>
            {kind}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The waits, the steps and the longest reads, in the order of time, at most `maxLines`. */
function shownOf(spans: readonly TransactionSpan[]): readonly TransactionSpan[] {
  const reads = spans.filter(({ kind }) => kind === "read");
  const longest = new Set(
    reads.toSorted((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs)).slice(0, maxReads),
  );
  return spans.filter((span) => span.kind !== "read" || longest.has(span)).slice(0, maxLines);
}

const said = (spans: readonly TransactionSpan[], endMs: number) =>
  `${spans.length} stretches within ${duration(endMs)}: ${spans
    .slice(0, 12)
    .map(({ name, fromMs, toMs }) => `${name} ${duration(toMs - fromMs)}`)
    .join(", ")}`;

function Ticks({
  endMs,
  at,
  height,
}: {
  readonly endMs: number;
  readonly at: (ms: number) => number;
  readonly height: number;
}) {
  return (
    <>
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line class="tick" x1={at(part * endMs)} x2={at(part * endMs)} y1={14} y2={height} />
          <text class="tick-label" x={at(part * endMs)} y={10} text-anchor="middle">
            {part === 0 ? "0" : duration(part * endMs)}
          </text>
        </g>
      ))}
    </>
  );
}

function Line({
  span,
  y,
  at,
}: {
  readonly span: TransactionSpan;
  readonly y: number;
  readonly at: (ms: number) => number;
}) {
  const { name, cell, kind, fromMs, toMs } = span;
  const x = at(fromMs);
  const long = Math.max(2, at(toMs) - x);
  const column = cell === undefined ? "" : ` ${oneLine(columnName(cell))}`;
  const where = cell === undefined ? "" : `${column} ${keyLine(cell.row)}`;
  const shown = [...`${name}${column}`];
  return (
    <g>
      <title>{`${name}${where}: ${duration(toMs - fromMs)}, from ${duration(fromMs)}`}</title>
      <text class="span-name" x={0} y={y + 12}>
        {shown.length > 24 ? `${shown.slice(0, 23).join("")}…` : shown.join("")}
      </text>
      <rect class={`span ${kind}`} x={x} y={y + 2} width={long} height={14} rx={2} />
      {kind === "wait" ? <WaitStripes x={x} y={y + 2} width={long} height={14} /> : null}
      <text class="span-time" x={x + long + 5} y={y + 13}>
        {duration(toMs - fromMs)}
      </text>
    </g>
  );
}

/** Waits have stripes as well as a colour. */
function WaitStripes({ x, y, width: wide, height }: { x: number; y: number; width: number; height: number }) {
  const lines = Math.min(60, Math.floor(wide / 5));
  const path = Array.from({ length: lines }, (_, index) => {
    const from = x + 3 + index * 5;
    return `M${from},${y + height}L${Math.min(x + wide, from + 4)},${y}`;
  }).join("");
  return <path class="stripes" d={path} />;
}
