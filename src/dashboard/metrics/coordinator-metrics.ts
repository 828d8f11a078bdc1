import type { Coordinator } from "../../coordinator/index.js";
import { type ExposedMetric, exposedText, type MetricDescription } from "../../events/index.js";
import type { PlainPages } from "./plain-pages.js";

/** A metric of a coordinator. */
export interface CoordinatorMetric extends Omit<MetricDescription, "read" | "labels"> {
  readonly labels: readonly [];
  /** Undefined if there is no sample. */
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
    "1 while the coordinator leads and its lease holds, otherwise 0.",
    (each) => Number(each.holdsLease),
  ),
  metric(
    "gauge",
    "coordinator_epoch",
    "Its own epoch if it leads, otherwise the newest epoch that it saw.",
    ({ status }) => status.epoch,
  ),
  metric(
    "gauge",
    "coordinator_sessions",
    "Sessions that report to the coordinator; 0 if it does not lead.",
    ({ figures }) => figures.sessions,
  ),
  metric(
    "gauge",
    "coordinator_busy_sessions",
    "How many of these sessions have a run in flight.",
    ({ figures }) => figures.busySessions,
  ),
  metric(
    "gauge",
    "coordinator_streams",
    "Open client streams; each process has two.",
    ({ figures }) => figures.streams,
  ),
  metric(
    "counter",
    "coordinator_timestamps_total",
    "Timestamps requested by clients.",
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
      const why = role === "leading" ? "its lease has expired and is not renewed yet" : "it knows no leader";
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
