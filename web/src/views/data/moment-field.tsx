import { useEffect, useState } from "preact/hooks";
import { overview } from "../../api/stream.js";
import { dateTime, duration, inputTime } from "../../format/times.js";
import { useAbout } from "../../state/about.js";
import { useStore } from "../../state/store.js";

interface Props {
  /** Milliseconds since 1970, or a timestamp of the database. Undefined means now. */
  readonly at: string | undefined;
  /** `isFinal` is false while the slider still moves. */
  readonly onChange: (at: string | undefined, isFinal: boolean) => void;
}

/** Steps of the slider. */
const steps = 1_000;
/**
 * The slider ends this many milliseconds before the oldest time that can be read. Otherwise a time
 * that the user chose there could leave the retention before the server reads at it.
 */
const slackMs = 2_000;
/** Timestamps count microseconds since 1970: any number above this one is a timestamp. */
const minTimestamp = 1e14;

export function millisecondsOf(at: string): number {
  const value = Number(at);
  return value >= minTimestamp ? value / 1_000 : value;
}

/** The time as the command line takes it, where a number is always a timestamp. */
export function momentText(at: string): string {
  return /^\d{1,14}$/.test(at) ? new Date(Number(at)).toISOString() : at;
}

/** Chooses the time as of which rows are shown: a slider over the retention, a date, or now. */
export function MomentField({ at, onChange }: Props) {
  const { retentionMs, now: startedAt } = useAbout();
  const now = useStore(overview)?.now ?? startedAt;
  const chosen = at === undefined ? undefined : millisecondsOf(at);
  const [slid, setSlid] = useState<number>();
  const shown = slid ?? chosen;
  const place = shown === undefined ? steps : Math.round(steps * (1 - (now - shown) / retentionMs));
  const oldest = now - retentionMs + slackMs;
  const momentOf = (step: number) =>
    step >= steps ? undefined : Math.max(oldest, Math.round(now - (1 - step / steps) * retentionMs));
  // Waits until the slider rests, so that the store need not answer a request for each step.
  useEffect(() => {
    if (slid === undefined) return;
    const timer = setTimeout(() => {
      onChange(String(slid), true);
      setSlid(undefined);
    }, 180);
    return () => clearTimeout(timer);
  }, [slid, onChange]);
  /** Applies a choice at once. What the slider has not applied yet must not replace it. */
  const choose = (moment: number | undefined) => {
    setSlid(undefined);
    onChange(moment === undefined ? undefined : String(moment), true);
  };
  const slide = (step: number) => {
    const moment = momentOf(step);
    if (moment === undefined) choose(undefined);
    else setSlid(moment);
  };
  const text = shown === undefined ? "now" : `${dateTime(shown)}, ${duration(Math.max(0, now - shown))} ago`;
  return (
    <fieldset class="field moment">
      <legend>
        As of <output>{text}</output>
      </legend>
      <div class="moment-parts">
        <span class="faint">−{duration(retentionMs)}</span>
        <input
          type="range"
          min={0}
          max={steps}
          value={Math.max(0, Math.min(steps, place))}
          aria-label="Time within the retention"
          aria-valuetext={text}
          onInput={(event) => slide(Number(event.currentTarget.value))}
        />
        <input
          type="datetime-local"
          step={1}
          aria-label="Date and time"
          value={shown === undefined ? "" : inputTime(shown)}
          onChange={(event) => {
            const moment = new Date(event.currentTarget.value).getTime();
            choose(Number.isNaN(moment) ? undefined : moment);
          }}
        />
        <button type="button" disabled={shown === undefined} onClick={() => choose(undefined)}>
          Now
        </button>
      </div>
    </fieldset>
  );
}
