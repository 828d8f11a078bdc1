/** Runs committed in one interval. */
export interface Sample {
  /** Seconds since the beginning, at the interval's end. */
  readonly at: number;
  readonly rate: number;
}

export interface Mark {
  readonly at: number;
  readonly text: string;
}

const size = { width: 760, height: 360, left: 70, right: 20, top: 40, bottom: 50 };
const plot = {
  width: size.width - size.left - size.right,
  height: size.height - size.top - size.bottom,
};

/** Throughput over time, with marks at what happened. */
export function chartOf(samples: readonly Sample[], marks: readonly Mark[], title: string): string {
  const end = Math.max(1, ...samples.map(({ at }) => at));
  const highest = niceTop(Math.max(1, ...samples.map(({ rate }) => rate)));
  const x = (at: number) => size.left + (at / end) * plot.width;
  const y = (rate: number) => size.top + (1 - rate / highest) * plot.height;
  const parts = [label(size.left, 20, "start", title)];
  for (let step = 0; step <= 4; step++) {
    const rate = (highest * step) / 4;
    parts.push(line(size.left, y(rate), size.left + plot.width, y(rate), "#ddd"));
    parts.push(label(size.left - 8, y(rate) + 4, "end", String(Math.round(rate))));
  }
  for (let at = 0; at <= end; at += 10) parts.push(label(x(at), size.height - 28, "middle", String(at)));
  parts.push(label(size.left + plot.width / 2, size.height - 10, "middle", "seconds"));
  for (const { at, text } of marks) {
    parts.push(line(x(at), size.top, x(at), size.top + plot.height, "#b3261e"));
    parts.push(label(x(at) + 5, size.top + 12, "start", text, "#b3261e"));
  }
  const points = samples.map(({ at, rate }) => `${x(at).toFixed(1)},${y(rate).toFixed(1)}`);
  parts.push(`<polyline points="${points.join(" ")}" fill="none" stroke="#1b5e9b" stroke-width="2"/>`);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" font-family="sans-serif" ` +
    `font-size="12"><title>${title}</title><rect width="100%" height="100%" fill="#fff"/>\n${parts.join("\n")}\n</svg>\n`
  );
}

function niceTop(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 4, 5, 8, 10].find((factor) => factor * power >= most) ?? 10) * power;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string): string {
  const [from, to] = [
    `x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}"`,
    `x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}"`,
  ];
  return `<line ${from} ${to} stroke="${stroke}"/>`;
}

function label(x: number, y: number, anchor: string, text: string, fill = "#333"): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${fill}">${text}</text>`;
}
