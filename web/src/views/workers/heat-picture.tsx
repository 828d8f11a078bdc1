import { useEffect, useRef, useState } from "preact/hooks";
import type { HeatMap } from "../../../../src/dashboard/api/index.js";
import { counted } from "../../format/numbers.js";
import { oneLine } from "../../format/text.js";
import { clock } from "../../format/times.js";
import { isModified } from "../../parts/keys.js";
import { useStore } from "../../state/store.js";
import { theme } from "../../state/theme.js";

interface Place {
  readonly range: number;
  readonly bucket: number;
}

/**
 * Counts as colours: key ranges from top to bottom, time from left to right. The pointer or the
 * arrow keys select a field, and its count is shown.
 */
export function HeatPicture({ heat }: { readonly heat: HeatMap }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [place, setPlace] = useState<Place>();
  const [width, setWidth] = useState(0);
  const chosen = useStore(theme);
  const { ranges, counts, metric } = heat;
  const buckets = Math.max(0, ...counts.map((row) => row.length));
  useEffect(() => {
    const element = canvas.current!;
    const watcher = new ResizeObserver(() => setWidth(element.clientWidth));
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  useEffect(() => {
    if (width === 0) return;
    const frame = requestAnimationFrame(() => draw(canvas.current!, heat, buckets, place));
    return () => cancelAnimationFrame(frame);
  }, [heat, width, chosen, place, buckets]);
  const most = Math.max(0, ...counts.flat());
  // The ranges adapt to the activity, so there may be fewer than when the field was chosen.
  const read = place === undefined || place.range >= ranges.length ? undefined : fieldOf(heat, place);
  return (
    <div class="heat">
      <div class="heat-frame">
        <ol class="heat-keys" aria-hidden="true">
          {labelled(ranges.length, maxKeys).map((range) => (
            <li key={range} style={`top:${(100 * range) / ranges.length}%`}>
              <bdi>{keyText(ranges[range])}</bdi>
            </li>
          ))}
        </ol>
        <canvas
          ref={canvas}
          tabIndex={0}
          role="img"
          aria-label={`${metric} of ${heat.table} by key range and time: ${ranges.length} ranges, ${buckets} times, at most ${most}. Arrow keys read the fields.`}
          onKeyDown={(event) => {
            if (isModified(event)) return;
            const next = moved(event.key, place ?? { range: 0, bucket: buckets - 1 }, ranges.length, buckets);
            if (next === undefined) return;
            event.preventDefault();
            setPlace(next);
          }}
          onPointerMove={(event) => setPlace(pointed(event, ranges.length, buckets))}
          onPointerLeave={() => setPlace(undefined)}
          onBlur={() => setPlace(undefined)}
        />
      </div>
      <p class="heat-times">
        {labelled(buckets, maxTimes).map((bucket) => (
          <span key={bucket} style={`left:${(100 * bucket) / Math.max(1, buckets)}%`}>
            {clock(heat.startsAt + bucket * heat.bucketMs).slice(0, 5)}
          </span>
        ))}
      </p>
      <div class="heat-foot">
        <p class="heat-read" role="status">
          {read ?? "Point at a field, or move with the arrow keys."}
        </p>
        <p class="heat-scale">
          0 <span class="heat-ramp" aria-hidden="true" /> {counted(most, metric.slice(0, -1), metric)}
        </p>
      </div>
    </div>
  );
}

/** The most keys and times beside the picture. */
const maxKeys = 8;
const maxTimes = 5;

/** Indexes of the first of `count` and of others at equal distances, at most `max`. */
function labelled(count: number, max: number): readonly number[] {
  const step = Math.max(1, Math.ceil((count - 1) / (max - 1)));
  return Array.from({ length: Math.ceil(count / step) }, (_, index) => index * step);
}

const keyText = (key: string | undefined) => (key === undefined || key === "" ? "first row" : oneLine(key));

function fieldOf({ ranges, counts, startsAt, bucketMs, metric }: HeatMap, { range, bucket }: Place): string {
  const at = startsAt + bucket * bucketMs;
  const value = counts[range]?.[bucket] ?? 0;
  const until = range + 1 < ranges.length ? ` up to ${keyText(ranges[range + 1])}` : " on";
  return `${counted(value, metric.slice(0, -1), metric)} from ${keyText(ranges[range])}${until}, ${clock(at)} – ${clock(at + bucketMs)}`;
}

function moved(key: string, { range, bucket }: Place, ranges: number, buckets: number): Place | undefined {
  const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
  switch (key) {
    case "ArrowLeft":
      return { range, bucket: within(bucket - 1, buckets) };
    case "ArrowRight":
      return { range, bucket: within(bucket + 1, buckets) };
    case "ArrowUp":
      return { range: within(range - 1, ranges), bucket };
    case "ArrowDown":
      return { range: within(range + 1, ranges), bucket };
    case "Home":
      return { range, bucket: 0 };
    case "End":
      return { range, bucket: buckets - 1 };
  }
  return undefined;
}

function pointed(event: PointerEvent, ranges: number, buckets: number): Place {
  const { left, top, width, height: high } = (event.currentTarget as Element).getBoundingClientRect();
  const part = (offset: number, whole: number, count: number) =>
    Math.max(0, Math.min(count - 1, Math.floor((offset / whole) * count)));
  return {
    range: part(event.clientY - top, high, ranges),
    bucket: part(event.clientX - left, width, buckets),
  };
}

function draw(canvas: HTMLCanvasElement, heat: HeatMap, buckets: number, place: Place | undefined): void {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext("2d")!;
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const [cold, hot, ring] = ["--heat-cold", "--heat-hot", "--ink"].map((name) =>
    style.getPropertyValue(name),
  );
  const most = Math.max(1, ...heat.counts.flat());
  const wide = width / Math.max(1, buckets);
  const high = height / Math.max(1, heat.counts.length);
  const gap = Math.min(wide, high) > 5 ? 1 : 0;
  for (const [range, row] of heat.counts.entries())
    for (const [bucket, value] of row.entries()) {
      // A logarithm, so that fields with small counts stay visible next to a field with thousands.
      const part = value === 0 ? 0 : 0.12 + (0.88 * Math.log1p(value)) / Math.log1p(most);
      context.globalAlpha = 1;
      context.fillStyle = cold!;
      context.fillRect(bucket * wide, range * high, wide - gap, high - gap);
      if (part === 0) continue;
      context.globalAlpha = part;
      context.fillStyle = hot!;
      context.fillRect(bucket * wide, range * high, wide - gap, high - gap);
    }
  context.globalAlpha = 1;
  if (place === undefined) return;
  context.strokeStyle = ring!;
  context.lineWidth = 2;
  context.strokeRect(place.bucket * wide, place.range * high, Math.max(2, wide), Math.max(2, high));
}
