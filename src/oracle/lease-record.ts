import { StoreDamagedError } from "../errors/index.js";
import { lastTimestamp } from "./range.js";

/**
 * Who leads the oracle, and how far it may count: the one value in the oracle's row. Each write of
 * it has a higher revision than the value that it replaces, and each attempt of one candidate a
 * revision of its own; so no two requests carry equal bytes, and bytes that were replaced never
 * come back.
 */
export interface LeaseRecord {
  /** Rises by one with each leader. */
  readonly epoch: number;
  /** Rises with each write. */
  readonly revision: number;
  /** The leader, by its own unique id; empty where it has gone and nobody need wait. */
  readonly holder: string;
  /** The leader's name, by which clients know it. */
  readonly name: string;
  /** How long the holder counts on it, from before it asked for it, in milliseconds. */
  readonly leaseMs: number;
  /** The high-water mark: no timestamp above it was given. */
  readonly mark: number;
}

const format = 1;
const maxLeaseMs = 86_400_000;

export function encodeLease(record: LeaseRecord): Buffer {
  const { epoch, revision, holder, name, leaseMs, mark } = record;
  return Buffer.from(JSON.stringify({ format, epoch, revision, holder, name, leaseMs, mark }));
}

export function decodeLease(bytes: Uint8Array): LeaseRecord {
  let cause: unknown;
  try {
    const record: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    if (isLease(record)) {
      const { epoch, revision, holder, name, leaseMs, mark } = record;
      return { epoch, revision, holder, name, leaseMs, mark };
    }
  } catch (error) {
    cause = error;
  }
  throw new StoreDamagedError(
    "The oracle's lease cannot be read: it was damaged, or written by a newer version of this package. No timestamps are " +
      "given, since those given before are not known.",
    { cause },
  );
}

function isLease(value: unknown): value is LeaseRecord & { readonly format: number } {
  if (typeof value !== "object" || value === null) return false;
  const record = value as Record<string, unknown>;
  return (
    record.format === format &&
    isCount(record.epoch) &&
    isCount(record.revision) &&
    typeof record.holder === "string" &&
    typeof record.name === "string" &&
    isLeaseMs(record.leaseMs) &&
    isCount(record.mark) &&
    record.mark <= lastTimestamp
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isLeaseMs(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= maxLeaseMs;
}
