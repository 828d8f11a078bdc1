import { overview } from "../../api/stream.js";
import { bounded } from "../../format/numbers.js";
import type { CommandParts } from "../../format/shell.js";
import { Mark } from "../../parts/mark.js";
import { Tabs } from "../../parts/tabs.js";
import { ViewHead } from "../../parts/view-head.js";
import { hashOf, type Route } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { Locks } from "./locks.js";
import { Parked } from "./parked.js";
import { RetryingGroups } from "./retrying.js";

export function FailuresView({ route }: { readonly route: Route }) {
  const { show = "parked", observer, text } = route.state;
  const now = useStore(overview);
  const commands: readonly CommandParts[] =
    show === "locks"
      ? [{ command: "locks" }]
      : [{ command: "parked", options: { observer, error: text, group: true } }];
  return (
    <div class="view">
      <ViewHead title="Failures" commands={commands}>
        What fails, since when, and for which rows. Retry what is parked once its cause is gone.
      </ViewHead>
      <ReadOnlyNote isLocks={show === "locks"} />
      <Tabs
        label="Failures"
        current={show}
        items={[
          { key: "parked", name: "Parked", href: hashOf("failures", { observer }), ...badgeOf(now?.parked) },
          {
            key: "locks",
            name: "Locks",
            href: hashOf("failures", { show: "locks" }),
            ...badgeOf(now?.locks),
          },
        ]}
      />
      {show === "locks" ? (
        <Locks route={route} />
      ) : (
        <>
          <Parked route={route} />
          <RetryingGroups route={route} />
        </>
      )}
    </div>
  );
}

function badgeOf(count: { readonly count: number; readonly isBound: boolean } | undefined): {
  badge?: string;
} {
  return count === undefined || count.count === 0 ? {} : { badge: bounded(count) };
}

/** Explains why there are no buttons. */
function ReadOnlyNote({ isLocks }: { readonly isLocks: boolean }) {
  const { writable } = useAbout();
  if (writable) return null;
  return (
    <p class="note reach" data-read-only>
      <Mark level="idle" /> This dashboard only reads. Start it with <code>--writable</code> to{" "}
      {isLocks ? "resolve locks" : "retry and discard"} here, or use the command line with{" "}
      <code>{isLocks ? "--resolve" : "--retry or --discard"}</code>.
    </p>
  );
}
