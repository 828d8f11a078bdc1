import type { LockShown, LocksPage } from "../../../../src/dashboard/api/index.js";
import { apiPath } from "../../api/client.js";
import { useApi } from "../../api/use-api.js";
import { keyLine, shortId } from "../../format/text.js";
import { duration } from "../../format/times.js";
import { moveByKeys } from "../../parts/keys.js";
import { Word } from "../../parts/mark.js";
import { CellLink } from "../../parts/names.js";
import { Empty, Failed, Loading, NotRenewed } from "../../parts/notices.js";
import { hashOf, type Route } from "../../routing/route.js";
import { useAbout } from "../../state/about.js";
import { useActing } from "./acting.js";
import type { Intent } from "./intents.js";

const limit = 100;
const everyMs = 2_000;

/** Existing locks: their owner, their age and their primary lock. */
export function Locks({ route }: { readonly route: Route }) {
  const { after } = route.state;
  const { data, error, reload } = useApi<LocksPage>(apiPath("locks", { after, limit }), everyMs);
  const { writable, commit } = useAbout();
  const { propose, shown } = useActing(reload);
  if (error !== undefined && data === undefined) return <Failed error={error} retry={reload} />;
  if (data === undefined)
    return (
      <Loading
        what={commit === "one-phase" ? "locks. One-phase commits, as of this database, set none" : "locks"}
      />
    );
  return (
    <>
      {shown}
      <NotRenewed error={error} />
      {data.isCut ? (
        <p class="note" data-cut>
          There may be more locks: the search took more than three seconds and was stopped.{" "}
          <code>percolator locks</code> prints all of them.
        </p>
      ) : null}
      {data.locks.length === 0 ? (
        data.isCut ? null : after !== undefined ? (
          <Empty title="There are no more locks.">
            <a href={hashOf("failures", { show: "locks" })}>First page</a>
          </Empty>
        ) : (
          <Empty title="There are no locks.">
            {commit === "one-phase"
              ? "This database commits in one phase, which needs no locks."
              : "A lock exists while its transaction commits. If a process ends, the next transaction that meets its locks resolves them."}
          </Empty>
        )
      ) : (
        <section class="panel" aria-labelledby="locks">
          <div class="panel-head">
            <h2 id="locks">Locks</h2>
            <span class="faint">by age, including locks of transactions that commit right now</span>
          </div>
          <table class="stack locks" onKeyDown={moveByKeys}>
            <thead>
              <tr>
                <th scope="col">Cell</th>
                <th scope="col">Kind</th>
                <th scope="col" class="number">
                  Age
                </th>
                <th scope="col">Owner</th>
                <th scope="col">Primary</th>
                <th scope="col">Start</th>
                {writable ? <th scope="col">Resolve</th> : null}
              </tr>
            </thead>
            <tbody>
              {[...data.locks]
                .sort((a, b) => b.ageMs - a.ageMs)
                .map((lock) => (
                  <Line key={lock.id} lock={lock} propose={writable ? propose : undefined} />
                ))}
            </tbody>
          </table>
          {data.next === undefined && after === undefined ? null : (
            <nav class="paging" aria-label="Pages">
              {after === undefined ? null : <a href={hashOf("failures", { show: "locks" })}>First page</a>}
              {data.next === undefined ? (
                !data.isCut && <span class="faint">the end</span>
              ) : (
                <a class="next" href={hashOf("failures", { show: "locks", after: data.next })}>
                  Next locks
                </a>
              )}
            </nav>
          )}
        </section>
      )}
    </>
  );
}

/** Whether the owner of the lock lives, as far as is known. */
function Owner({ lock: { ownerLives, session, ageMs, ttlMs } }: { readonly lock: LockShown }) {
  if (ownerLives === true) return <Word level="ok">lives</Word>;
  if (ownerLives === false) return <Word level="bad">ended</Word>;
  return (
    <span title={`session ${session}`}>
      {ageMs > ttlMs ? <Word level="warn">unknown</Word> : <Word level="idle">unknown</Word>}
    </span>
  );
}

function Line({
  lock,
  propose,
}: {
  readonly lock: LockShown;
  readonly propose: ((intent: Intent) => void) | undefined;
}) {
  const { kind, ageMs, ttlMs, session, primary, isPrimary, startTimestamp, ownerLives } = lock;
  return (
    <tr>
      <th scope="row">
        <CellLink cell={lock} />
      </th>
      <td data-label="Kind">{kind}</td>
      <td
        data-label="Age"
        class="number"
        title={`The lock expires ${duration(ttlMs)} after its owner last refreshed it.`}
      >
        {duration(ageMs)}
      </td>
      <td data-label="Owner">
        <Owner lock={lock} />{" "}
        <span class="faint mono" title={`session ${session}`}>
          {shortId(session)}
        </span>
      </td>
      <td data-label="Primary">
        {isPrimary ? <span class="tag">itself</span> : <CellLink cell={primary} />}
      </td>
      <td data-label="Start" class="timestamp">
        {startTimestamp}
      </td>
      {propose === undefined ? null : (
        <td data-label="Resolve">
          <button type="button" onClick={() => propose(resolving(lock))}>
            Resolve
          </button>
          {ownerLives === true ? <span class="unseen"> It stays, because its owner is alive.</span> : null}
        </td>
      )}
    </tr>
  );
}

function resolving({ id, row, ownerLives }: LockShown): Intent {
  const left = ownerLives === true ? " Its owner is alive, so the lock stays." : "";
  return {
    action: "locks/resolve",
    body: { id },
    title: "Resolve this lock?",
    consequence: `The transaction that locked ${keyLine(row)} is rolled forward if its primary lock was committed, otherwise back.${left}`,
    button: "Resolve",
    isDangerous: false,
  };
}
