import type { FailureGroupShown, Failures, ParkedShown } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { overview } from "../../api/stream.js";
import { useApi } from "../../api/use-api.js";
import { bounded, count, counted, moreThan } from "../../format/numbers.js";
import { errorLine } from "../../format/text.js";
import { ago, clock, dateTime } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { CellLink } from "../../parts/names.js";
import { Empty, Failed, Loading, NotRenewed } from "../../parts/notices.js";
import { ObserverSelect } from "../../parts/observers-select.js";
import { SearchField } from "../../parts/search-field.js";
import { hashOf, type Route } from "../../routing/route.js";
import { change } from "../../routing/use-route.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";
import { useActing } from "./acting.js";
import { type Intent, ofGroup, ofObserver, ofOne, type Verb } from "./intents.js";

const everyMs = 5_000;

type Propose = ((intent: Intent) => void) | undefined;

/** Parked changes, in groups with one kind of error. */
export function Parked({ route }: { readonly route: Route }) {
  const { observer = "", text = "" } = route.state;
  // The groups of an earlier filter must not stay: their actions would act on what the new one finds.
  const { data, error, reload } = useApi<Failures>(apiPath("failures", { observer, text }), everyMs, false);
  const { writable, now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  const { propose, shown } = useActing(reload);
  const offered = writable ? propose : undefined;
  const total = data?.total.count ?? 0;
  return (
    <>
      <div class="controls">
        <SearchField
          label="Error"
          value={text}
          placeholder="a part of the error"
          onChange={(next) => change(route, { text: next }, true)}
        />
        <ObserverSelect value={observer} onChange={(name) => change(route, { observer: name })} />
        {observer === "" || text !== "" || total === 0 ? null : (
          <Actions
            propose={offered}
            words={(verb) => `${verb} all of ${observer}`}
            intent={(verb) => ofObserver(verb, observer, total)}
          />
        )}
      </div>
      {shown}
      {data === undefined ? null : <NotRenewed error={error} />}
      {error !== undefined && data === undefined ? <Failed error={error} retry={reload} /> : null}
      {data === undefined ? error === undefined && <Loading what="parked changes" /> : null}
      {data === undefined ? null : data.groups.length === 0 ? (
        <Nothing observer={observer} text={text} />
      ) : (
        <section class="panel" aria-labelledby="parked">
          <div class="panel-head">
            <h2 id="parked">Parked</h2>
            <span class="faint">
              {moreThan(data.total, "change")} in{" "}
              {counted(data.groups.length, "kind of error", "kinds of error")}, newest first
              {data.others === 0 ? "" : `; ${count(data.others)} more of other kinds`}
            </span>
          </div>
          <ul class="parked" onKeyDown={moveByKeys}>
            {data.groups.map((group) => (
              <Group
                key={group.id}
                group={group}
                isBound={data.total.isBound}
                text={text}
                now={now}
                propose={offered}
              />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function Nothing({ observer, text }: { readonly observer: string; readonly text: string }) {
  if (text !== "") return <Empty title="No parked change has this text in its error." />;
  return (
    <Empty title="Nothing is parked.">
      {observer === "" ? "No observer has parked a change." : `${observer} has parked no change.`}
    </Empty>
  );
}

function Actions({
  propose,
  words,
  intent,
}: {
  readonly propose: Propose;
  readonly words: (verb: "Retry" | "Discard") => string;
  readonly intent: (verb: Verb) => Intent;
}) {
  if (propose === undefined) return null;
  return (
    <span class="actions">
      <button type="button" onClick={() => propose(intent("retry"))}>
        {words("Retry")}
      </button>
      <button type="button" class="danger" onClick={() => propose(intent("discard"))}>
        {words("Discard")}
      </button>
    </span>
  );
}

interface GroupProps {
  readonly group: FailureGroupShown;
  /** Whether the group may have more changes than were counted. */
  readonly isBound: boolean;
  readonly text: string;
  readonly now: number;
  readonly propose: Propose;
}

function Group({ group, isBound, text, now, propose }: GroupProps) {
  const { id, observer, message, count: times, firstAt, lastAt, newest } = group;
  const shown = bounded({ count: times, isBound });
  return (
    <li data-group={message}>
      <div class="parked-head">
        <b class="parked-count">{shown}</b>
        <a class="strong" href={hashOf("pipeline", { node: `observer:${observer}` })}>
          {observer}
        </a>
        <span class="faint" title={`${dateTime(firstAt)} to ${dateTime(lastAt)}`}>
          last {ago(lastAt, now)} · first {clock(firstAt)}, {ago(firstAt, now)}
        </span>
        <span class="actions">
          <Actions
            propose={propose}
            words={(verb) => (times === 1 && !isBound ? verb : `${verb} ${shown}`)}
            intent={(verb) => ofGroup(verb, group, isBound, text)}
          />
          <a
            class="button"
            href={apiPath("parked/export", { group: id, text })}
            download={`parked-${observer}.json`}
          >
            Export
          </a>
        </span>
      </div>
      <details>
        <summary data-row class="error-text">
          {errorLine(message)}
        </summary>
        <p class="faint">{times > newest.length ? `The newest ${newest.length} of ${shown}.` : null}</p>
        <ul class="examples">
          {newest.map((parked) => (
            <Example key={parked.id} parked={parked} now={now} propose={propose} />
          ))}
        </ul>
      </details>
    </li>
  );
}

function Example({
  parked,
  now,
  propose,
}: {
  readonly parked: ParkedShown;
  readonly now: number;
  readonly propose: Propose;
}) {
  const { attempts, parkedAt, error, stack } = parked;
  return (
    <li>
      <div class="parked-head">
        <CellLink cell={parked} />
        <span class="faint" title={dateTime(parkedAt)}>
          {counted(attempts, "attempt")} · parked {ago(parkedAt, now)}
        </span>
        <Actions propose={propose} words={(verb) => verb} intent={(verb) => ofOne(verb, parked)} />
      </div>
      <details>
        <summary class="error-text">{errorLine(error)}</summary>
        <pre class="stack-trace" tabIndex={0}>
          {stack ?? "No stack was recorded."}
        </pre>
      </details>
    </li>
  );
}
