import { useRef, useState } from "preact/hooks";
import type { Acted } from "../../../../src/dashboard/api/index.js";
import { type Action, ApiError, act } from "../../api/client.js";
import { counted } from "../../format/numbers.js";
import { Dialog } from "../../parts/dialog.js";
import { Mark } from "../../parts/mark.js";
import type { Intent } from "./intents.js";

const done: Readonly<Record<Action, readonly [one: string, many: string]>> = {
  "parked/retry": ["change is due again", "changes are due again"],
  "parked/discard": ["change counts as handled", "changes count as handled"],
  "locks/resolve": ["lock was resolved", "locks were resolved"],
};

/** The outcome in one sentence. */
function outcomeOf(action: Action, { done: count, gone, standing, isMore }: Acted): string {
  const parts = [counted(count, ...done[action])];
  if (gone > 0) parts.push(`${counted(gone, "was", "were")} no longer there`);
  if (standing > 0)
    parts.push(
      `${counted(standing, "lock")} still ${standing === 1 ? "stands" : "stand"}: the owner is alive`,
    );
  return `${parts.join("; ")}.${isMore ? " There are more: do it again." : ""}`;
}

export interface Acting {
  readonly propose: (intent: Intent) => void;
  /** The question or the last outcome, for the view to show. */
  readonly shown: preact.JSX.Element;
}

/** Asks before it changes anything, acts, and shows the outcome. */
export function useActing(onDone: () => void): Acting {
  const [intent, setIntent] = useState<Intent>();
  const [outcome, setOutcome] = useState<string>();
  const finish = (text: string) => {
    setIntent(undefined);
    setOutcome(text);
    onDone();
  };
  const shown = (
    <>
      <div role="status" class="outcome">
        {outcome === undefined ? null : (
          <p>
            <Mark level="ok" /> {outcome}
          </p>
        )}
      </div>
      {intent === undefined ? null : (
        <Confirm intent={intent} onClose={() => setIntent(undefined)} onDone={finish} />
      )}
    </>
  );
  const propose = (next: Intent) => {
    setOutcome(undefined);
    setIntent(next);
  };
  return { propose, shown };
}

interface ConfirmProps {
  readonly intent: Intent;
  readonly onClose: () => void;
  readonly onDone: (outcome: string) => void;
}

function Confirm({ intent, onClose, onDone }: ConfirmProps) {
  const [soFar, setSoFar] = useState<Acted>();
  const [error, setError] = useState<string>();
  const running = useRef<AbortController | undefined>(undefined);
  const { action, body, title, consequence, button, isDangerous, of } = intent;
  const confirm = async () => {
    const controller = new AbortController();
    running.current = controller;
    let last: Acted = { done: 0, gone: 0, standing: 0 };
    const tell = (acted: Acted) => {
      last = acted;
      setSoFar(acted);
    };
    tell(last);
    try {
      onDone(outcomeOf(action, await act(action, body, tell, controller.signal)));
    } catch (caught) {
      running.current = undefined;
      if (controller.signal.aborted) return onDone(`Cancelled. ${outcomeOf(action, last)}`);
      const why = caught instanceof ApiError ? caught.message : String(caught);
      setError(last.done + last.gone === 0 ? why : `${why} Before that: ${outcomeOf(action, last)}`);
      setSoFar(undefined);
    }
  };
  const leave = () => (running.current === undefined ? onClose() : running.current.abort());
  const count = soFar === undefined ? 0 : soFar.done + soFar.gone + soFar.standing;
  return (
    <Dialog title={title} onClose={leave}>
      <p>{consequence}</p>
      {soFar === undefined || of === undefined || of < 2 ? null : (
        <p class="acting" role="status">
          <progress max={of} value={Math.min(of, count)} aria-label="Progress" /> {counted(count, "change")}{" "}
          of about {counted(of, "change")}
        </p>
      )}
      {error === undefined ? null : (
        <p class="error-line" role="alert">
          <Mark level="bad" /> {error}
        </p>
      )}
      <div class="dialog-end">
        <button type="button" onClick={leave}>
          {soFar === undefined ? "Leave it" : "Cancel"}
        </button>
        <button
          type="button"
          class={isDangerous ? "primary danger" : "primary"}
          disabled={soFar !== undefined}
          onClick={() => void confirm()}
        >
          {soFar === undefined ? button : "Doing it…"}
        </button>
      </div>
    </Dialog>
  );
}
