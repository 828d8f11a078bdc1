import { Metadata } from "../packages.js";
import { decodeRetryInfo, decodeStatus, type RetryInfo } from "../protos/codec.js";
import { fromInt64 } from "../protos/int64.js";

const detailsKey = "grpc-status-details-bin";
const typeName = "google.rpc.RetryInfo";
const negative = 0x8000_0000;

/** The metadata of a failed call. Undefined for other errors. */
export function metadataOf(error: unknown): Metadata | undefined {
  return error instanceof Error && "metadata" in error && error.metadata instanceof Metadata
    ? error.metadata
    : undefined;
}

/**
 * The delay that the service asks for before a retry, in milliseconds. Undefined if the error names
 * no delay.
 */
export function retryDelayMs(error: unknown): number | undefined {
  for (const bytes of metadataOf(error)?.get(detailsKey) ?? []) {
    const info = typeof bytes === "string" ? undefined : retryInfo(bytes);
    if (info === undefined) continue;
    const { seconds, nanos = 0 } = info.retryDelay ?? {};
    if (seconds !== undefined && seconds.high >= negative) return 0;
    return Math.max(0, (seconds === undefined ? 0 : fromInt64(seconds)) * 1_000 + nanos / 1_000_000);
  }
  return undefined;
}

function retryInfo(bytes: Uint8Array): RetryInfo | undefined {
  try {
    const detail = decodeStatus(bytes).details?.find(
      ({ typeUrl }) => typeUrl?.split("/").at(-1) === typeName,
    );
    return detail && decodeRetryInfo(detail.value ?? new Uint8Array(0));
  } catch {
    // Unreadable details count as details without a delay. The caller still gets the failure
    // itself.
    return undefined;
  }
}
