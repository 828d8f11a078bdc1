import type { Place } from "./place.js";

/** What a request to a store or an oracle asks for. */
export type RequestKind =
  | "read"
  | "mutate"
  | "commit"
  | "timestamp"
  | "counter"
  | "question"
  | "wait"
  | "other";

/** Something that a client asks of what it shares with others: a store, an oracle, a service. */
export interface Request<T = unknown> {
  readonly kind: RequestKind;
  /** What it reads or changes. */
  readonly places: readonly Place[];
  /** Whether it may change something at its places, if only what is answered there next. */
  readonly changes: boolean;
  /** Whether it may be done after its sender was told that no answer came. */
  readonly mayBeLate: boolean;
  /** Whether it may be done twice, as a network does to what it carries: whichever was answered. */
  readonly mayRepeat: boolean;
  /** One line for people: what is asked. */
  describe(): string;
  /** Does it, where it is shared. */
  apply(): T | Promise<T>;
  /** What the client is told where no answer comes. Throws where it is told by an error. */
  lost(): T;
  /** One line for people: what was answered. */
  show(answer: T): string;
  /** All that was answered, for comparing it with other answers. */
  digest(answer: T): string;
  /** Other answers that may be given: wrong guesses, by name. */
  readonly otherAnswers?: readonly { readonly name: string; readonly answer: T }[] | undefined;
  /** Whether it can be done now; undefined: always. */
  readonly ready?: (() => boolean) | undefined;
}

/** What stands between a client and what it shares: decides when a request is done, how often, and what comes back. */
export interface Network {
  send<T>(request: Request<T>): Promise<T>;
}
