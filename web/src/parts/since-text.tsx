import { clock } from "../format/times.js";
import type { Since } from "../state/past.js";

/** `since 03:12:40`, or `since before` the time at which the history begins. */
export function SinceText({ since }: { readonly since: Since | undefined }) {
  if (since === undefined) return null;
  return (
    <b>
      since {since.isAtLeast ? "before " : ""}
      {clock(since.at)}
    </b>
  );
}
