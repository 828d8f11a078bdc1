/**
 * How strictly transactions are ordered beyond their data: not at all, by the order in each
 * process, or in real time.
 */
const strictness = {
  "": [""],
  "strong-session-": ["", "-process"],
  strong: ["", "-process", "-realtime"],
} as const;

const noCycles = ["G0", "G1c", "G-single-item", "G-nonadjacent-item"];
const always = [
  "internal",
  "future-read",
  "G1a",
  "G1b",
  "garbage",
  "lost-update",
  "incompatible-order",
  "duplicate-elements",
  "dirty-update",
  "cyclic-versions",
];

function prohibits(cycles: readonly string[], strict: keyof typeof strictness): ReadonlySet<string> {
  const found = cycles.flatMap((cycle) => strictness[strict].map((suffix) => `${cycle}${suffix}`));
  const inRealTime = strict === "strong" ? ["cyclic-versions-realtime"] : [];
  return new Set([...always, ...found, ...inRealTime]);
}

const serial = [...noCycles, "G2-item"];

/** Consistency models by Elle's names, each with the anomalies that it excludes. */
export const models = {
  "snapshot-isolation": prohibits(noCycles, ""),
  "strong-session-snapshot-isolation": prohibits(noCycles, "strong-session-"),
  "strong-snapshot-isolation": prohibits(noCycles, "strong"),
  serializable: prohibits(serial, ""),
  "strong-session-serializable": prohibits(serial, "strong-session-"),
  "strict-serializable": prohibits(serial, "strong"),
} as const;

export type Model = keyof typeof models;

/** The database's promise for each isolation level. */
export const promised = {
  snapshot: "strong-snapshot-isolation",
  serializable: "strict-serializable",
} as const;
