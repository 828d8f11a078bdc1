import type { ComponentChildren } from "preact";
import type { Overview, PastMoment } from "../../../../src/dashboard/api/index.js";
import { bounded, count, none, rate } from "../../format/numbers.js";
import { clock, duration } from "../../format/times.js";
import { trend } from "../../format/trend.js";
import { Sparkline } from "../../parts/sparkline.js";
import { hashOf } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { past } from "../../state/past.js";
import { useStore } from "../../state/store.js";

/** Current figures of the database: activity and contents. */
export function Figures({ now }: { readonly now: Overview }) {
  const { commit, retentionMs } = useAbout();
  const failures = now.observers.reduce((sum, { failuresPerSecond }) => sum + failuresPerSecond, 0);
  const oldestMs = Math.max(0, ...now.observers.map(({ oldestPendingMs = 0 }) => oldestPendingMs));
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
        <Hour of={({ commits }) => commits} label="Commits a second" />
      </Figure>
      <Figure
        name="Conflicts"
        value={heard(now.conflictsPerSecond)}
        unit="/s"
        href={hashOf("transactions", { show: "conflicts" })}
        note="run again until their retries end"
      >
        <Hour of={({ conflicts }) => conflicts} label="Conflicts a second" isBad />
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
        note={trend(now.growthPerSecond, now.pending) || "waiting for observers"}
      >
        <Hour of={({ pending }) => pending} label="Changes that wait" />
      </Figure>
      <Figure
        name="Oldest change"
        value={oldestMs === 0 ? "none" : duration(oldestMs)}
        unit={oldestMs === 0 ? "" : "old"}
        href={hashOf("pipeline")}
        note="of all that wait for observers"
      >
        <Hour of={({ oldestMs: ms }) => ms} label="Age of the oldest change" />
      </Figure>
      <Figure
        name="Failures"
        value={heard(failures)}
        unit="/s"
        href={hashOf("transactions", { show: "failed" })}
        note="runs that fail; they are tried again"
      >
        <Hour of={({ failures: perSecond }) => perSecond} label="Failures a second" isBad />
      </Figure>
      <Figure
        name="Parked"
        value={bounded(now.parked)}
        unit={now.parked.count === 1 ? "change" : "changes"}
        href={hashOf("failures")}
        isBad={now.parked.count > 0}
        note="failed too often; retry or discard them"
      >
        <Hour of={({ parked }) => parked} label="Parked changes" isBad />
      </Figure>
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

/** A figure over the last hour, or over the part of it that is known. */
function Hour({
  of,
  label,
  isBad = false,
}: {
  readonly of: (moment: PastMoment) => number | undefined;
  readonly label: string;
  readonly isBad?: boolean;
}) {
  const moments = useStore(past);
  const [first] = moments;
  if (first === undefined) return null;
  return (
    <>
      <Sparkline
        points={moments.map((moment) => [moment.at, of(moment)])}
        label={`${label} since ${clock(first.at)}`}
        tone={isBad ? "bad" : "plain"}
      />
      <span class="figure-times" aria-hidden="true">
        <span>{clock(first.at).slice(0, 5)}</span> <span>now</span>
      </span>
    </>
  );
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
