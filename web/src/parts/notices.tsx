import type { ComponentChildren } from "preact";
import type { Reach } from "../../../src/dashboard/api.js";
import type { ApiError } from "../api/client.js";
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

function adviceOn({ status, code }: ApiError): string {
  if (status === 401 || status === 403)
    return "Open the whole address that the dashboard printed at its start: it contains the token.";
  if (status === 0)
    return "Is the process that serves the dashboard still running? The page tries again by itself.";
  if (code === "STALE_SNAPSHOT") return "Choose a time within the retention.";
  return status === 404 ? "It may have existed before. Go back, or start at the overview." : "";
}

const missing: Readonly<Record<string, string>> = {
  overview:
    "throughput, conflicts and delays are known only to processes that run transactions; backlogs, parked changes and locks are read from the store",
  pipeline:
    "the columns that runs read and write are known only to the processes that run them; watched columns and backlogs are read from the store",
  transactions: "transactions are remembered by the processes that run them",
  workers: "sessions are read from the store; the activity of each process is unknown",
  heat: "writes, conflicts and hints by key are counted by the processes that make them",
};

/** Says what this dashboard cannot see. */
export function ReachNote({ reach, of }: { readonly reach: Reach; readonly of: string }) {
  if (reach === "here") return null;
  if (reach === "named")
    return <p class="note reach">This shows only the named workers; others may work on the same database.</p>;
  return (
    <p class="note reach">
      <Mark level="idle" /> Only the store is looked at: {missing[of]}. Let the workers serve the dashboard (
      <code>percolator worker … --dashboard</code>) to see more.
    </p>
  );
}
