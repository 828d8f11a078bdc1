import type { AttachedOverview, Overview } from "../../../../src/dashboard/api/index.js";
import { bounded, none } from "../../format/numbers.js";
import { duration } from "../../format/times.js";
import { Word } from "../../parts/mark.js";
import { hashOf } from "../../routing/route.js";
import { copyText, healthOfAttached, worstAttachedFirst } from "../../state/health.js";

/**
 * Each attached SQL table, with the changes that no worker has moved yet. Shows nothing if there are
 * none.
 */
export function Attached({ now: { attached, attachedDenied } }: { readonly now: Overview }) {
  if (attached.length === 0 && attachedDenied === undefined) return null;
  return (
    <section class="panel" aria-labelledby="attached">
      <div class="panel-head">
        <h2 id="attached">Attached tables</h2>
        <p class="faint">SQL tables that observers watch, and their changes that no worker has moved yet</p>
      </div>
      {attachedDenied === undefined ? (
        <table class="stack freshness">
          <thead>
            <tr>
              <th scope="col">SQL table</th>
              <th scope="col">Table</th>
              <th scope="col">State</th>
              <th scope="col">Rows</th>
              <th scope="col" class="number">
                Waiting
              </th>
              <th scope="col" class="number">
                Oldest waits
              </th>
            </tr>
          </thead>
          <tbody>
            {worstAttachedFirst(attached).map((table) => (
              <AttachedRow key={table.source} table={table} />
            ))}
          </tbody>
        </table>
      ) : (
        <p class="faint">They cannot be shown. {attachedDenied}</p>
      )}
    </section>
  );
}

function AttachedRow({ table }: { readonly table: AttachedOverview }) {
  const { source, name, pending, oldestPendingMs } = table;
  const { level, word, why } = healthOfAttached(table);
  return (
    <tr class={level} data-attached={source}>
      <th scope="row">{source}</th>
      <td data-label="Table">
        <a href={hashOf("data", { table: name })}>{name}</a>
      </td>
      <td data-label="State" title={why}>
        <Word level={level}>{word}</Word>
      </td>
      <td data-label="Rows">{copyText(table)}</td>
      <td data-label="Waiting" class="number">
        {bounded(pending)}
      </td>
      <td data-label="Oldest waits" class="number strong">
        {oldestPendingMs === undefined ? none : duration(oldestPendingMs)}
      </td>
    </tr>
  );
}
