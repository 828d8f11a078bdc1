import type { Writer } from "../../../../src/dashboard/api/index.js";
import { oneLine } from "../../format/text.js";
import { hashOf } from "../../routing/route.js";

/** Who wrote a version, as far as a process remembers it. */
export function WrittenBy({ writer }: { readonly writer: Writer | undefined }) {
  if (writer === undefined)
    return <span class="faint">written by a transaction that no process remembers</span>;
  const { name, isObserver, process, id } = writer;
  const what = (
    <>
      {isObserver ? "a run of " : ""}
      <b>{oneLine(name ?? "a transaction without a label")}</b>
    </>
  );
  return (
    <>
      written by {id === undefined ? what : <a href={hashOf("transactions", { id })}>{what}</a>}
      {process === undefined ? "" : ` in ${process}`}
    </>
  );
}
