import type { PostgresFacts, SlotFacts, StandbyFacts } from "../../store/postgres/index.js";
import { showBytes } from "../print/layout.js";
import { formatDuration } from "../time.js";
import { type Finding, ok, problem, warning } from "./finding.js";

const largeLagMs = 30_000;
const largeLagBytes = 2 ** 30;

/** Reports standbys that are away or late, and slots that fill the server's disk. */
export function standbyFindings({ settings, standbys, slots }: PostgresFacts): readonly Finding[] {
  return [
    ...replicationFindings(settings.synchronous_standby_names ?? "", standbys),
    ...slots.flatMap(slotFindings),
  ];
}

function replicationFindings(synchronous: string, standbys: readonly StandbyFacts[]): readonly Finding[] {
  const late = standbys.filter(isLate).map(lateFinding);
  const areSynchronous = standbys.filter(({ syncState }) => syncState === "sync" || syncState === "quorum");
  if (synchronous !== "" && areSynchronous.length === 0) {
    const advice =
      "Start the standby that `synchronous_standby_names` names. Until then every commit waits. To do without: alter system set synchronous_standby_names = ''; select pg_reload_conf();";
    return [problem("replication", `no synchronous standby is connected (${synchronous})`, advice), ...late];
  }
  if (standbys.length === 0) return [ok("replication", "no standby")];
  if (synchronous === "") {
    const advice =
      "A failover to such a standby loses the last acknowledged commits. To lose none, set `synchronous_standby_names`.";
    return [warning("replication", `${describe(standbys)}, none of them synchronous`, advice), ...late];
  }
  return late.length > 0 ? late : [ok("replication", describe(standbys))];
}

function describe(standbys: readonly StandbyFacts[]): string {
  return standbys
    .map(({ name, state, syncState }) => `standby ${name} (${[syncState, state].filter(Boolean).join(", ")})`)
    .join(", ");
}

function isLate({ lagMs = 0, lagBytes = 0 }: StandbyFacts): boolean {
  return lagMs > largeLagMs || lagBytes > largeLagBytes;
}

function lateFinding({ name, lagMs, lagBytes }: StandbyFacts): Finding {
  const by = [
    ...(lagMs === undefined ? [] : [formatDuration(lagMs)]),
    ...(lagBytes === undefined ? [] : [showBytes(lagBytes)]),
  ];
  return warning(
    "replication",
    `standby ${name} is ${by.join(" and ")} behind`,
    "Check the standby's load, its disk and the network. A failover waits until it has replayed that.",
  );
}

function slotFindings({ name, active, keptBytes }: SlotFacts): readonly Finding[] {
  if (active || keptBytes <= largeLagBytes) return [];
  return [
    warning(
      "replication slots",
      `nobody uses the slot ${name}, and the server keeps ${showBytes(keptBytes)} of its log for it`,
      `Connect its standby, or drop it before the disk is full: select pg_drop_replication_slot('${name.replaceAll("'", "''")}').`,
    ),
  ];
}
