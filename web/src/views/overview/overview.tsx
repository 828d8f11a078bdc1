import type { Overview } from "../../../../src/dashboard/api/index.js";
import { overview } from "../../api/stream.js";
import { Mark } from "../../parts/mark.js";
import { Loading, ReachNote } from "../../parts/notices.js";
import { ViewHead } from "../../parts/view-head.js";
import { hashOf, type Route } from "../../routing/route.js";
import { verdictOf } from "../../state/health.js";
import { useStore } from "../../state/store.js";
import { Attached } from "./attached.js";
import { Figures } from "./figures.js";
import { Freshness } from "./freshness.js";
import { Schedules } from "./schedules.js";
import { Statistics } from "./statistics.js";
import { Wrong } from "./wrong.js";

export function OverviewView(_: { readonly route: Route }) {
  const now = useStore(overview);
  return (
    <div class="view">
      <ViewHead title="Overview" commands={[{ command: "status" }]}>
        How fresh derived data is, and what this database does right now.
      </ViewHead>
      {now === undefined ? <Loading what="the overview" /> : <Shown now={now} />}
    </div>
  );
}

function Shown({ now }: { readonly now: Overview }) {
  return (
    <>
      <VerdictLine now={now} />
      <Wrong now={now} />
      <ReachNote reach={now.reach} of="overview" />
      <Freshness now={now} />
      <Attached now={now} />
      <Schedules schedules={now.schedules} />
      <Figures now={now} />
      <Statistics statistics={now.statistics} />
    </>
  );
}

/** The state of the database in one line, unless the list below it says the same and more. */
function VerdictLine({ now }: { readonly now: Overview }) {
  const { level, word, why, lookAt, isListed } = verdictOf(now);
  if (isListed) return null;
  return (
    <section class={`verdict ${level}`} aria-label="In one line">
      <Mark level={level} />
      <p>
        <strong>{word}</strong> <span>{why}</span>
      </p>
      {lookAt === undefined ? null : <a href={hashOf(lookAt)}>Look at it</a>}
    </section>
  );
}
