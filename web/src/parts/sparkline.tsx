interface Props {
  readonly values: readonly number[];
  /** Read by screen readers instead of the line. */
  readonly label: string;
  readonly width?: number;
  readonly height?: number;
  readonly tone?: "plain" | "bad";
}

/**
 * A line chart of figures over time. Its vertical axis begins at zero, and the newest figure is at
 * the right.
 */
export function Sparkline({ values, label, width = 120, height = 28, tone = "plain" }: Props) {
  const top = Math.max(1e-9, ...values);
  const step = values.length < 2 ? width : width / (values.length - 1);
  const points = values.map((value, index) => {
    const y = height - 1.5 - (value / top) * (height - 3);
    return `${(index * step).toFixed(1)},${y.toFixed(1)}`;
  });
  const line = points.length === 0 ? "" : `M${points.join("L")}`;
  const area = points.length === 0 ? "" : `${line}L${width},${height}L0,${height}Z`;
  return (
    <svg
      class={`sparkline ${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path class="area" d={area} />
      <path class="line" d={line} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
