import { overview } from "../../api/stream.js";
import { dateTime, expiry } from "../../format/times.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

/** When a cell expires, or that it has expired and no sweep has deleted it yet. */
export function Expiry({ at }: { readonly at: number | undefined }) {
  const { now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  if (at === undefined) return <span class="absent">–</span>;
  return (
    <time class="expiry" dateTime={new Date(at).toISOString()} title={dateTime(at)}>
      {expiry(at, now)}
    </time>
  );
}
