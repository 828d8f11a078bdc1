import type { FailureGroupShown, ParkedShown } from "../../../../src/dashboard/api/index.js";
import type { Action } from "../../api/client.js";
import { moreThan } from "../../format/numbers.js";
import { keyLine } from "../../format/text.js";

/** An action that needs confirmation. */
export interface Intent {
  readonly action: Action;
  readonly body: Readonly<Record<string, string>>;
  /** The question to confirm. */
  readonly title: string;
  /** Its consequences. */
  readonly consequence: string;
  readonly button: string;
  readonly isDangerous: boolean;
  /** How many changes or locks it is about, as far as is known. */
  readonly of?: number;
}

export type Verb = "retry" | "discard";

const consequences: Readonly<Record<Verb, string>> = {
  retry: "They become due again with all their attempts. Changes that still fail are parked again.",
  discard:
    "They count as handled: the observer derives nothing from them until their cells change again. This cannot be undone.",
};

const inWords: Readonly<Record<Verb, string>> = { retry: "Retry", discard: "Discard" };

/**
 * Retries or discards all changes of a group, of which there may be more than were counted. If the list
 * is filtered by a text, only those with it.
 */
export function ofGroup(
  verb: Verb,
  { id, observer, count }: FailureGroupShown,
  isBound: boolean,
  text: string,
): Intent {
  return {
    action: `parked/${verb}`,
    body: text === "" ? { group: id } : { group: id, text },
    title: `${inWords[verb]} ${moreThan({ count, isBound }, "parked change")} of ${observer}?`,
    consequence: `All changes of ${observer} with this kind of error${text === "" ? "" : " and this text"} are meant. ${consequences[verb]}`,
    button: `${inWords[verb]} all`,
    isDangerous: verb === "discard",
    of: count,
  };
}

/** Retries or discards all changes of an observer. */
export function ofObserver(verb: Verb, observer: string, count: number): Intent {
  return {
    action: `parked/${verb}`,
    body: { observer },
    title: `${inWords[verb]} all parked changes of ${observer}?`,
    consequence: consequences[verb],
    button: `${inWords[verb]} all`,
    isDangerous: verb === "discard",
    of: count,
  };
}

/** Retries or discards one change. */
export function ofOne(verb: Verb, { id, observer, row }: ParkedShown): Intent {
  const key = keyLine(row);
  const consequence =
    verb === "retry"
      ? `${observer} becomes due on ${key} again with all its attempts.`
      : `It counts as handled: ${observer} derives nothing from ${key} until the cell changes again. This cannot be undone.`;
  return {
    action: `parked/${verb}`,
    body: { id },
    title: `${inWords[verb]} this change?`,
    consequence,
    button: inWords[verb],
    isDangerous: verb === "discard",
  };
}
