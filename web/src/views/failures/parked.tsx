import type { ParkedPage, ParkedShown } from "../../../../src/dashboard/api.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { counted } from "../../format/numbers.js";
import { ago, dateTime } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { CellLink } from "../../parts/names.js";
import { Empty, Failed, Loading } from "../../parts/notices.js";
import { ObserverSelect } from "../../parts/observers-select.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { type Intent, useActing } from "./acting.js";

const limit = 50;
const everyMs = 5_000;

/** Parked changes, with their errors. */
export function Parked({ route }: { readonly route: Route }) {
  const { observer = "", after } = route.state;
  const { data, error, reload } = useApi<ParkedPage>(apiPath("parked", { observer, after, limit }), everyMs);
  const { writable, now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  const { propose, shown } = useActing(reload);
  const count = data?.parked.length ?? 0;
  return (
    <>
      <div class="controls">
        <ObserverSelect
          value={observer}
          onChange={(name) => change(route, { observer: name, after: undefined })}
        />
        {writable && observer !== "" && count > 0 ? (
          <div class="actions">
            <button type="button" onClick={() => propose(ofAll("retry", observer))}>
              Retry all of {observer}
            </button>
            <button type="button" class="danger" onClick={() => propose(ofAll("discard", observer))}>
              Discard all of {observer}
            </button>
          </div>
        ) : null}
        {writable && observer === "" && count > 0 ? (
          <p class="faint hint-line">Choose an observer to retry or discard all of its changes.</p>
        ) : null}
      </div>
      {shown}
      {error !== undefined && data === undefined ? <Failed error={error} retry={reload} /> : null}
      {data === undefined ? error === undefined && <Loading what="parked changes" /> : null}
      {data === undefined ? null : count === 0 ? (
        <Empty title="Nothing is parked.">
          {observer === "" ? "No observer has parked a change." : `${observer} has parked no change.`}
        </Empty>
      ) : (
        <section class="panel" aria-labelledby="parked">
          <div class="panel-head">
            <h2 id="parked">Parked</h2>
            <span class="faint">{counted(count, "change")} on this page</span>
          </div>
          <ul class="parked" onKeyDown={moveByKeys}>
            {data.parked.map((parked) => (
              <ParkedItem
                key={parked.id}
                parked={parked}
                now={now}
                propose={writable ? propose : undefined}
              />
            ))}
          </ul>
          <Paging route={route} next={data.next} />
        </section>
      )}
    </>
  );
}

function ofAll(verb: "retry" | "discard", observer: string): Intent {
  return verb === "retry"
    ? {
        action: "parked/retry",
        body: { observer },
        title: `Retry all parked changes of ${observer}?`,
        consequence:
          "They become due again with all their attempts. Changes that still fail are parked again.",
        button: "Retry all",
        isDangerous: false,
      }
    : {
        action: "parked/discard",
        body: { observer },
        title: `Discard all parked changes of ${observer}?`,
        consequence:
          "They count as handled: the observer derives nothing from them until their cells change again. This cannot be undone.",
        button: "Discard all",
        isDangerous: true,
      };
}

function ofOne(verb: "retry" | "discard", { id, observer, row }: ParkedShown): Intent {
  return verb === "retry"
    ? {
        action: "parked/retry",
        body: { id },
        title: "Retry this change?",
        consequence: `${observer} becomes due on ${row} again with all its attempts.`,
        button: "Retry",
        isDangerous: false,
      }
    : {
        action: "parked/discard",
        body: { id },
        title: "Discard this change?",
        consequence: `It counts as handled: ${observer} derives nothing from ${row} until the cell changes again. This cannot be undone.`,
        button: "Discard",
        isDangerous: true,
      };
}

interface ItemProps {
  readonly parked: ParkedShown;
  readonly now: number;
  readonly propose: ((intent: Intent) => void) | undefined;
}

function ParkedItem({ parked, now, propose }: ItemProps) {
  const { observer, attempts, parkedAt, error, stack } = parked;
  return (
    <li>
      <div class="parked-head">
        <a class="strong" href={hashOf("pipeline", { node: `observer:${observer}` })}>
          {observer}
        </a>
        <CellLink cell={parked} />
        <span class="faint" title={dateTime(parkedAt)}>
          {counted(attempts, "attempt")} · parked {ago(parkedAt, now)}
        </span>
        {propose === undefined ? null : (
          <span class="actions">
            <button type="button" onClick={() => propose(ofOne("retry", parked))}>
              Retry
            </button>
            <button type="button" class="danger" onClick={() => propose(ofOne("discard", parked))}>
              Discard
            </button>
          </span>
        )}
      </div>
      <details>
        <summary data-row class="error-text">
          {error}
        </summary>
        <pre class="stack-trace" tabIndex={0}>
          {stack ?? "No stack was recorded."}
        </pre>
      </details>
    </li>
  );
}

function Paging({ route, next }: { readonly route: Route; readonly next: string | undefined }) {
  const { observer, after } = route.state;
  if (next === undefined && after === undefined) return null;
  return (
    <nav class="paging" aria-label="Pages">
      {after === undefined ? null : <a href={hashOf("failures", { observer })}>First page</a>}
      {next === undefined ? (
        <span class="faint">the end</span>
      ) : (
        <a class="next" href={hashOf("failures", { observer, after: next })}>
          Next changes
        </a>
      )}
    </nav>
  );
}
