import { StoreDamagedError, StoreVersionError } from "../errors/index.js";
import { lastTimestamp } from "./range.js";

/**
 * The value in the oracle's row: the leader, and the highest timestamp that it may give out. Each
 * write has a higher revision than the value that it replaces, and each attempt of a candidate has
 * its own revision. So no two requests carry the same bytes, and replaced bytes never come back.
 */
export interface LeaseRecord {
  /** Increases by one with each leader. */
  readonly epoch: number;
  /** Increases with each write. */
  readonly revision: number;
  /**
   * The leader's unique id. Empty if the leader has given up the lease. Then no candidate has to
   * wait.
   */
  readonly holder: string;
  /** The leader's name, under which clients know it. */
  readonly name: string;
  /**
   * How long the holder relies on the lease, in milliseconds from the time just before it sent its
   * write.
   */
  readonly leaseMs: number;
  /** The high-water mark: no timestamp above it was given out. */
  readonly mark: number;
  /**
   * Identifies the database, so that a client notices a coordinator of another one. Empty if an
   * earlier version wrote the lease.
   */
  readonly cluster: string;
}

const format = 1;
const maxLeaseMs = 86_400_000;

export function encodeLease(record: LeaseRecord): Buffer {
  const { epoch, revision, holder, name, leaseMs, mark, cluster } = record;
  return Buffer.from(JSON.stringify({ format, epoch, revision, holder, name, leaseMs, mark, cluster }));
}

export function decodeLease(bytes: Uint8Array): LeaseRecord {
  let record: unknown;
  let cause: unknown;
  try {
    record = JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (error) {
    cause = error;
  }
  if (isLease(record)) {
    const { epoch, revision, holder, name, leaseMs, mark, cluster = "" } = record;
    return { epoch, revision, holder, name, leaseMs, mark, cluster };
  }
  const newer = newerFormat(record);
  if (newer !== undefined) {
    throw new StoreVersionError(
      `The oracle's lease has format ${newer}, but this package knows only format ${format}. A newer version of the package has ` +
        "written it. Upgrade this process.",
    );
  }
  throw new StoreDamagedError(
    "The oracle's lease cannot be read. The oracle assigns no timestamps, because it does not know which ones it has " +
      "assigned. Restore the row.",
    { cause },
  );
}

/** The lease's format, if it is newer than this package's. */
function newerFormat(value: unknown): number | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { format: found } = value as { readonly format?: unknown };
  return isCount(found) && found > format ? found : undefined;
}

function isLease(value: unknown): value is Omit<LeaseRecord, "cluster"> & { readonly cluster?: string } {
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
    record.mark <= lastTimestamp &&
    (record.cluster === undefined || typeof record.cluster === "string")
  );
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isLeaseMs(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= maxLeaseMs;
}
