import type { Level } from "../state/health.js";

/** Levels differ by shape as well as by colour. */
const forms: Readonly<Record<Level, string>> = {
  ok: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Z",
  warn: "M8 1.5 15 14H1Z",
  bad: "M3 1.5 8 6.3l5-4.8L14.5 3 9.7 8l4.8 5-1.5 1.5L8 9.7l-5 4.8L1.5 13l4.8-5-4.8-5Z",
  idle: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2Zm0 2.2a3.8 3.8 0 1 0 0 7.6 3.8 3.8 0 0 0 0-7.6Z",
};

/** A small sign of a level, to be shown next to the level's word. */
export function Mark({ level }: { readonly level: Level }) {
  return (
    <svg class={`mark ${level}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={forms[level]} />
    </svg>
  );
}

/** The same sign within a larger drawing, centred. */
export function MarkAt({ level, x, y, size }: { level: Level; x: number; y: number; size: number }) {
  const scale = size / 16;
  return (
    <path
      class={`mark ${level}`}
      d={forms[level]}
      transform={`translate(${x - size / 2} ${y - size / 2}) scale(${scale})`}
    />
  );
}

/** The sign and its word. */
export function Word({ level, children }: { readonly level: Level; readonly children: string }) {
  return (
    <span class={`word ${level}`}>
      <Mark level={level} />
      {children}
    </span>
  );
}
