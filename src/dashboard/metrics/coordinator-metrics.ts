import type { Coordinator } from "../../coordinator/index.js";
import { type ExposedMetric, exposedText, type MetricDescription } from "../../events/index.js";
import type { PlainPages } from "./plain-pages.js";

/** A metric of a coordinator. */
export interface CoordinatorMetric extends Omit<MetricDescription, "read" | "labels"> {
  readonly labels: readonly [];
  /** Undefined for no sample. */
  readonly read: (coordinator: Coordinator) => number | undefined;
}

function metric(
  kind: "counter" | "gauge",
  name: string,
  about: string,
  read: (coordinator: Coordinator) => number | undefined,
): CoordinatorMetric {
  return { kind, name, about, labels: [], read };
}

/** Every metric of a coordinator. */
export const coordinatorCatalogue: readonly CoordinatorMetric[] = [
  metric(
    "gauge",
    "coordinator_leads",
    "1 while it leads and its lease holds, so that it answers; else 0.",
    (each) => Number(each.holdsLease),
  ),
  metric(
    "gauge",
    "coordinator_epoch",
    "Epoch of its own leading, or the last that it saw.",
    ({ status }) => status.epoch,
  ),
  metric(
    "gauge",
    "coordinator_sessions",
    "Sessions that report to it; 0 unless it leads.",
    ({ figures }) => figures.sessions,
  ),
  metric(
    "gauge",
    "coordinator_busy_sessions",
    "Sessions of these that have a run in flight.",
    ({ figures }) => figures.busySessions,
  ),
  metric(
    "gauge",
    "coordinator_streams",
    "Streams of clients: each process has two.",
    ({ figures }) => figures.streams,
  ),
  metric(
    "counter",
    "coordinator_timestamps_total",
    "Timestamps that it was asked for.",
    ({ figures }) => figures.timestamps,
  ),
  metric(
    "counter",
    "coordinator_failures_total",
    "Failures in the background, such as a lease that could not be renewed.",
    ({ figures }) => figures.failures,
  ),
  metric(
    "gauge",
    "coordinator_certificate_expires_timestamp_seconds",
    "When its certificate expires, in seconds since 1970; absent without TLS.",
    ({ certificateExpires }) => (certificateExpires === undefined ? undefined : certificateExpires / 1_000),
  ),
];

/** `/metrics`, `/healthz` and `/readyz` of a coordinator in this process. */
export function coordinatorPages(coordinator: Coordinator): PlainPages {
  return {
    "/metrics": async () => ({ status: 200, text: exposedText(exposed(coordinator)) }),
    "/healthz": async () => ({ status: 200, text: "ok\n" }),
    "/readyz": async () => {
      const { role, leader } = coordinator.status;
      if (coordinator.holdsLease) return { status: 200, text: "ok, leading\n" };
      if (role === "standby" && leader !== undefined)
        return { status: 200, text: `ok, standing by for ${leader}\n` };
      const why =
        role === "leading" ? "its lease has run out and is not renewed yet" : "it knows of no leader";
      return { status: 503, text: `The coordinator does not lead: ${why}.\n` };
    },
  };
}

function exposed(coordinator: Coordinator): readonly ExposedMetric[] {
  return coordinatorCatalogue.map((each) => {
    const value = each.read(coordinator);
    return { ...each, samples: value === undefined ? [] : [{ labels: {}, value }] };
  });
}
