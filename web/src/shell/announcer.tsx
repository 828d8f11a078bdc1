import { useEffect, useRef, useState } from "preact/hooks";
import { overview } from "../api/stream.js";
import { verdictOf } from "../state/health.js";
import { useStore } from "../state/store.js";

/** Tells screen readers when the verdict about the database changes, but not of each update. */
export function Announcer() {
  const now = useStore(overview);
  const verdict = now === undefined ? undefined : verdictOf(now);
  const last = useRef<string | undefined>(undefined);
  const [said, setSaid] = useState("");
  const key = verdict === undefined ? undefined : `${verdict.level} ${verdict.word}`;
  useEffect(() => {
    if (verdict === undefined || last.current === key) return;
    if (last.current !== undefined) setSaid(`${verdict.word}. ${verdict.why}`);
    last.current = key;
  }, [key]);
  return (
    <div class="unseen" role="status" aria-live="polite">
      {said}
    </div>
  );
}
