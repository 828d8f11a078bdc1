/**
 * Reads the JSON of events. `live/http/json.ts` says how values that JSON does not have are written.
 */
const readers: Readonly<Record<string, (value: never) => unknown>> = {
  $bigint: (value: string) => BigInt(value),
  $bytes: (value: string) => Uint8Array.from(atob(value), (each) => each.charCodeAt(0)),
  $date: (value: string) => new Date(value),
  $number: Number,
  $map: (value: [unknown, unknown][]) => new Map(value),
  $set: (value: unknown[]) => new Set(value),
  $undefined: () => undefined,
};

export function decodeJson(json: string): unknown {
  return revive(JSON.parse(json));
}

function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, revive(inner)] as const);
  const [[key, inner] = ["", 0]] = entries;
  if (entries.length === 1) {
    if (Object.hasOwn(readers, key)) return readers[key]!(inner as never);
    if (key.startsWith("$$")) return { [key.slice(1)]: inner };
  }
  return Object.fromEntries(entries);
}
