interface Props {
  /** Times and figures, oldest first. A figure that is not known is undefined. */
  readonly points: readonly (readonly [at: number, value: number | undefined])[];
  /** Read by screen readers instead of the line. */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
  readonly tone?: "plain" | "bad";
}

/** Points that are further apart than this, in milliseconds, are not joined. */
const gapMs = 35_000;

/**
 * A line chart of figures over time. Its vertical axis begins at zero, and the newest figure is at
 * the right. Where nothing is known, there is no line.
 */
export function Sparkline({ points, label, width = 120, height = 28, tone = "plain" }: Props) {
  const known = points.filter((point): point is readonly [number, number] => point[1] !== undefined);
  const [from = 0, to = 0] = [points[0]?.[0], points.at(-1)?.[0]];
  const top = Math.max(1e-9, ...known.map(([, value]) => value));
  let line = "";
  let area = "";
  for (const [index, [at, value]] of known.entries()) {
    const x = (((at - from) / Math.max(1, to - from)) * width).toFixed(1);
    const y = (height - 1.5 - (value / top) * (height - 3)).toFixed(1);
    const isJoined = index > 0 && at - known[index - 1]![0] <= gapMs;
    line += `${isJoined ? "L" : "M"}${x},${y}`;
    area += isJoined ? `L${x},${y}` : `${index > 0 ? `V${height}Z` : ""}M${x},${height}L${x},${y}`;
  }
  return (
    <svg
      class={`sparkline ${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="area" d={area === "" ? "" : `${area}V${height}Z`} />
      <path class="line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
