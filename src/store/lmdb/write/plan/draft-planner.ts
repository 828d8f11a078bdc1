import type { Environment } from "../../../../environment/index.js";
import type { Databases } from "../../record/databases.js";
import { storeError } from "../../record/errors.js";
import { readState, type StoreState } from "../../record/state.js";
import { Draft } from "../draft/draft.js";
import { Drafting } from "../draft/drafting.js";
import { NotPlannableError } from "../draft/not-plannable.js";
import { nameTask, type Request } from "../draft/request.js";
import { GuardCache } from "./guard-cache.js";
import { Plan, planRequest } from "./plan.js";

/** How many requests to plan or to do between two reads of the clock. */
export const requestsPerLook = 8;

/** Plans the drafts of a write queue, one after another, each on top of those before. */
export class DraftPlanner {
  readonly #databases: Databases;
  readonly #drafting: Drafting;
  readonly #environment: Environment;
  readonly #path: string;
  #draft: Draft | undefined;
  /** The results of guards that the requests of the draft share. */
  #memo = new GuardCache();
  /** The state after all drafts. Undefined if the next draft must read it. */
  #state: StoreState | undefined;

  constructor(databases: Databases, environment: Environment, path: string) {
    this.#databases = databases;
    this.#drafting = new Drafting(databases);
    this.#environment = environment;
    this.#path = path;
  }

  /** How many of the waiting requests the current draft covers. */
  get covered(): number {
    return this.#draft?.covered ?? 0;
  }

  /**
   * Continues the current draft, whose requests begin at `waiting[first]`. A draft takes at most
   * `maxRequests`. A call plans for about `maxMs` milliseconds. Returns false if it stopped because
   * of that time.
   */
  plan(waiting: readonly Request[], first: number, maxRequests: number, maxMs: number): boolean {
    const began = this.#environment.monotonic();
    for (let look = 1; first + this.covered < waiting.length; look++) {
      this.#draft ??= this.#newDraft();
      if (this.#draft.covered >= maxRequests || this.#draft.isFull) return true;
      if (!this.#planNext(this.#draft, waiting[first + this.#draft.covered]!)) return true;
      if (look % requestsPerLook === 0 && this.#environment.monotonic() - began > maxMs) return false;
    }
    return true;
  }

  /**
   * Hands out the current draft. The next one is planned on top of it. `after` is the state after
   * it, if it writes anything. Undefined if no request is planned.
   */
  take(after: Omit<StoreState, "counter">): Draft | undefined {
    const draft = this.#draft;
    this.#draft = undefined;
    if (draft === undefined || draft.covered === 0) return undefined;
    if (draft.writes) this.#state = { counter: draft.counter, ...after };
    return draft;
  }

  /** Forgets a draft that is committed. Later reads must see the commit. */
  forget(draft: Draft): void {
    this.#drafting.forget(draft);
  }

  /**
   * Forgets all drafts, because they will not be written or the store has other changes. The next
   * draft begins with the newest commit.
   */
  clear(): void {
    for (const request of this.#draft?.requests ?? []) request.unplan();
    this.#draft = undefined;
    this.#state = undefined;
    this.#drafting.clear();
  }

  /** Begins a group whose requests are done at once, inside its transaction. */
  beginNow(): void {
    this.clear();
    this.#memo = new GuardCache();
  }

  /**
   * Checks and writes one request, inside a write transaction. Returns the counter after it, and
   * whether it wrote anything. If it throws, LMDB must not commit the transaction.
   */
  doNow(request: Request, counter: number): { readonly counter: number; readonly wrote: boolean } {
    let after = counter;
    try {
      after = this.#planRequest(request, counter);
    } catch (error) {
      this.#fail(request, error);
      return { counter, wrote: false };
    }
    return { counter: after, wrote: this.#drafting.make() || after !== counter };
  }

  #planRequest(request: Request, counter: number): number {
    // An earlier plan may have failed because LMDB had to be reopened.
    request.unplan();
    try {
      return planRequest(new Plan(this.#drafting, this.#memo), request, counter, this.#environment.now());
    } catch (error) {
      this.#drafting.refuse();
      throw error;
    }
  }

  #fail(request: Request, error: unknown): void {
    request.failure = storeError(error, this.#path, nameTask(request.task));
  }

  #newDraft(): Draft {
    this.#memo = new GuardCache();
    if (this.#state === undefined) {
      // Everything that drafts read from now on comes from this snapshot or a newer one.
      this.#databases.root.resetReadTxn();
      this.#state = readState(this.#databases);
    }
    return new Draft(this.#state);
  }

  /** Plans one request. Returns false if that is impossible before its group has the lock. */
  #planNext(draft: Draft, request: Request): boolean {
    draft.first ??= request;
    if (!request.settled) {
      try {
        draft.counter = this.#planRequest(request, draft.counter);
        this.#drafting.accept(draft);
      } catch (error) {
        request.unplan();
        if (error instanceof NotPlannableError) return false;
        this.#fail(request, error);
      }
      draft.requests.push(request);
      draft.early ||= request.early;
    }
    draft.covered++;
    return true;
  }
}
