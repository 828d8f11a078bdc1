import type { ComponentChildren } from "preact";
import type { Overview } from "../../../../src/dashboard/api.js";
import { moments } from "../../api/stream.js";
import { bounded, count, none, rate } from "../../format/numbers.js";
import { clock, duration } from "../../format/times.js";
import { Sparkline } from "../../parts/sparkline.js";
import { hashOf } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

/** Current figures of the database: activity and contents. */
export function Figures({ now }: { readonly now: Overview }) {
  const { commit, retentionMs } = useAbout();
  const seen = useStore(moments);
  const isHeard = now.reach !== "store";
  const heard = (perSecond: number) => (isHeard ? rate(perSecond) : none);
  const { p50Ms, p99Ms } = now.transactionDuration;
  return (
    <section class="figures" aria-label="Figures">
      <Figure
        name="Throughput"
        value={heard(now.commitsPerSecond)}
        unit="commits/s"
        note={`and ${heard(now.rollbacksPerSecond)} rolled back`}
      >
        <Sparkline values={now.commits.values} label="Commits of each second" />
      </Figure>
      <Figure
        name="Conflicts"
        value={heard(now.conflictsPerSecond)}
        unit="/s"
        href={hashOf("transactions", { show: "conflicts" })}
        note="run again until their retries end"
      >
        <Sparkline values={now.conflicts.values} label="Conflicts of each second" tone="bad" />
      </Figure>
      <Figure
        name="Transactions"
        value={duration(p50Ms)}
        unit="p50"
        note={`p99 ${duration(p99Ms)}`}
        href={hashOf("transactions")}
      />
      <Figure
        name="Backlog"
        value={bounded(now.pending)}
        unit={now.pending.count === 1 ? "change" : "changes"}
        href={hashOf("pipeline")}
        note="waiting for observers"
      >
        <Sparkline
          values={seen.map(({ pending }) => pending)}
          label="Changes that wait, since the page was opened"
        />
      </Figure>
      <Figure
        name="Parked"
        value={bounded(now.parked)}
        unit={now.parked.count === 1 ? "change" : "changes"}
        href={hashOf("failures")}
        isBad={now.parked.count > 0}
        note="failed too often; retry or discard them"
      />
      <Figure
        name="Locks"
        value={bounded(now.locks)}
        unit="held"
        href={hashOf("failures", { show: "locks" })}
        note={commit === "one-phase" ? "one-phase commits need none" : "most are held for an instant"}
      />
      <Figure
        name="Workers"
        value={count(now.workers)}
        unit={now.workers === 1 ? "process" : "processes"}
        href={hashOf("workers")}
        note={coordinatorNote(now)}
        isBad={now.coordinator?.answers === false}
      />
      <Figure
        name="Safepoint"
        value={duration(now.safepointAgeMs)}
        unit={now.safepointAgeMs === undefined ? "not yet" : "old"}
        note={`retention ${duration(retentionMs)}; newest timestamp ${clock(now.latestTimestamp / 1_000)}`}
        isBad={
          now.safepointAgeMs !== undefined &&
          now.safepointAgeMs > 3 * retentionMs &&
          now.safepointAgeMs > 3_600_000
        }
      />
    </section>
  );
}

function coordinatorNote({ coordinator }: Overview): string {
  if (coordinator === undefined) return "no coordinator is needed here";
  const where = coordinator.address ?? "of unknown address";
  return coordinator.answers ? `coordinator ${where} answers` : `coordinator ${where} does not answer`;
}

interface FigureProps {
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly note: string;
  readonly href?: string;
  readonly isBad?: boolean;
  readonly children?: ComponentChildren;
}

function Figure({ name, value, unit, note, href, isBad = false, children }: FigureProps) {
  return (
    <div class={`figure ${isBad ? "bad" : ""}`} data-figure={name}>
      <h2>{href === undefined ? name : <a href={href}>{name}</a>}</h2>
      <p class="figure-value">
        <b>{value}</b> <span>{unit}</span>
      </p>
      {children === undefined ? null : <div class="figure-chart">{children}</div>}
      <p class="figure-note">{note}</p>
    </div>
  );
}
