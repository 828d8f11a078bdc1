import { useEffect, useRef } from "preact/hooks";
import type { About } from "../../src/dashboard/api/index.js";
import { apiPath } from "./api/client.js";
import { useApi } from "./api/use-api.js";
import { Failed, Loading } from "./parts/notices.js";
import type { Route, View } from "./routing/route.js";
import { useRoute } from "./routing/use-route.js";
import { Shell } from "./shell/shell.js";
import { AboutContext } from "./state/about.js";
import { DataBrowser } from "./views/data/data.js";
import { FailuresView } from "./views/failures/failures.js";
import { OverviewView } from "./views/overview/overview.js";
import { PipelineView } from "./views/pipeline/pipeline.js";
import { TransactionsView } from "./views/transactions/transactions.js";
import { WorkersView } from "./views/workers/workers.js";

const shown: Readonly<Record<View, (props: { route: Route }) => preact.JSX.Element>> = {
  overview: OverviewView,
  pipeline: PipelineView,
  data: DataBrowser,
  transactions: TransactionsView,
  failures: FailuresView,
  workers: WorkersView,
};

/** How long the page waits before it tries again, if the server did not answer. */
const againMs = 3_000;

export function App() {
  const route = useRoute();
  const about = useAboutOnce();
  const main = useRef<HTMLElement>(null);
  const { view } = route;
  useEffect(() => {
    document.title = `${view[0]!.toUpperCase()}${view.slice(1)} · Percolator`;
  }, [view]);
  const wasView = useRef(view);
  useEffect(() => {
    // After a change of the view by key or link, the focus moves to the view's head.
    if (wasView.current === view) return;
    wasView.current = view;
    main.current?.querySelector<HTMLElement>("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [view]);
  const Shown = shown[view];
  return (
    <Shell route={route} about={about.data}>
      <main id="main" ref={main} tabIndex={-1}>
        {about.data !== undefined ? (
          <AboutContext.Provider value={about.data}>
            <Shown key={view} route={route} />
          </AboutContext.Provider>
        ) : about.error !== undefined ? (
          <Failed error={about.error} retry={about.reload} />
        ) : (
          <Loading what="the dashboard" />
        )}
      </main>
    </Shell>
  );
}

function useAboutOnce() {
  const about = useApi<About>(apiPath("about"));
  const { error, reload } = about;
  useEffect(() => {
    if (error === undefined) return;
    const timer = setTimeout(reload, againMs);
    return () => clearTimeout(timer);
  }, [error, reload]);
  return about;
}
