import type { ComponentChildren } from "preact";
import type { Reach } from "../../../src/dashboard/api/index.js";
import type { ApiError } from "../api/client.js";
import { overview } from "../api/stream.js";
import { counted } from "../format/numbers.js";
import { useStore } from "../state/store.js";
import { Fold } from "./fold.js";
import { Mark } from "./mark.js";

/** Shown until the first answer. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="state" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what}…
    </p>
  );
}

/** Shown if there is nothing to show, with possible reasons. */
export function Empty({
  title,
  children,
}: {
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="state empty">
      <p class="state-title">{title}</p>
      {children === undefined ? null : <p>{children}</p>}
    </div>
  );
}

/** A failure in the server's words, and what the user can do. */
export function Failed({ error, retry }: { readonly error: ApiError; readonly retry?: () => void }) {
  return (
    <div class="state failed" role="alert">
      <p class="state-title">
        <Mark level="bad" /> {error.message}
      </p>
      <p>
        {adviceOn(error)} <code>{error.code}</code>
      </p>
      {retry === undefined ? null : (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/**
 * Says that what is shown could not be read again. The head of the page says it if the server does not
 * answer at all.
 */
export function NotRenewed({ error }: { readonly error: ApiError | undefined }) {
  if (error === undefined || error.status === 0) return null;
  return (
    <p class="note reach" role="status" data-not-renewed>
      <Mark level="warn" /> This could not be read again, and may be old. {error.message}
    </p>
  );
}

function adviceOn({ status, code }: ApiError): string {
  if (status === 401 || status === 403)
    return "Open the whole address that the dashboard printed when it started. It contains the token.";
  if (status === 0)
    return "Check that the process that serves the dashboard is still running. The page tries again by itself.";
  if (code === "STALE_SNAPSHOT") return "Choose a time within the retention.";
  return status === 404 ? "It may have existed before. Go back, or start at the overview." : "";
}

const missing: Readonly<Record<string, string>> = {
  overview:
    "only the processes that run transactions know throughput, conflicts and delays; backlogs, parked changes and locks come from the store",
  pipeline:
    "only the processes that run observers know the columns that runs read and write; watched columns and backlogs come from the store",
  transactions: "only the processes that run transactions remember them",
  workers: "sessions come from the store; the activity of each process is unknown",
  heat: "only the processes that write count writes, conflicts and hints by key",
};

/** Says what this dashboard cannot see: it knows the store, the named workers, or its own process. */
export function ReachNote({ reach, of }: { readonly reach: Reach; readonly of: string }) {
  const unseen = useStore(overview)?.unseen ?? [];
  if (reach !== "store" && unseen.length > 0) return <Unseen unseen={unseen} />;
  if (reach === "here") return null;
  if (reach === "named")
    return <p class="note reach">This shows only the named workers; others may work on the same database.</p>;
  return (
    <p class="note reach">
      <Mark level="idle" /> This dashboard reads only the store: {missing[of]}. Let the workers serve the
      dashboard (<code>percolator worker … --dashboard</code>) to see more.
    </p>
  );
}

/** Says which processes work on the database and are not seen here. */
function Unseen({ unseen }: { readonly unseen: readonly string[] }) {
  if (unseen.length === 0) return null;
  return (
    <Fold
      line={
        <>
          <Mark level="warn" /> Not seen here: {counted(unseen.length, "process", "processes")}
        </>
      }
    >
      <p class="note reach" data-unseen>
        <Mark level="warn" /> Not seen here: the transactions of {unseen.join(", ")}. Let{" "}
        {unseen.length === 1 ? "it" : "them"} serve a dashboard too (<code>--dashboard</code>), and name it
        with <code>--from</code>.
      </p>
    </Fold>
  );
}
