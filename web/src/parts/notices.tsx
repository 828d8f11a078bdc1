import type { ComponentChildren } from "preact";
import type { Reach } from "../../../src/dashboard/api.js";
import type { ApiError } from "../api/client.js";
import { Mark } from "./mark.js";

/** While nothing is there yet. */
export function Loading({ what }: { readonly what: string }) {
  return (
    <p class="state" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what}…
    </p>
  );
}

/** Where there is nothing to show, and why that may be. */
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

/** What went wrong, in the server's words, and what can be done. */
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
    return "Open the whole address that the dashboard printed when it started: it holds the token.";
  if (status === 0) return "Is the process that serves it still running? The page asks again by itself.";
  if (code === "STALE_SNAPSHOT") return "Choose a moment within the retention.";
  return status === 404 ? "It may have been there before; go back, or look from the top." : "";
}

const missing: Readonly<Record<string, string>> = {
  overview:
    "throughput, conflicts and delays are those of transactions, and stay unknown; what waits, is parked or locked is read from the store",
  pipeline:
    "which columns runs read and write is learned from runs, and stays unknown; what each observer watches, and what waits, is known",
  transactions: "transactions are remembered by the processes that run them",
  workers: "sessions are read from the store; what each process does stays unknown",
  heat: "writes, conflicts and hints by key are counted by the processes that make them",
};

/** Says honestly what is not seen from here. */
export function ReachNote({ reach, of }: { readonly reach: Reach; readonly of: string }) {
  if (reach === "here") return null;
  if (reach === "named")
    return (
      <p class="note reach">
        Shown is what the workers that were named tell; others may work on the same database.
      </p>
    );
  return (
    <p class="note reach">
      <Mark level="idle" /> Only the store is looked at: {missing[of]}. Serve the dashboard from where the
      workers run (<code>percolator worker … --dashboard</code>) to see it.
    </p>
  );
}
