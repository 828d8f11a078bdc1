import { onAbort, systemEnvironment } from "../../../environment/index.js";
import { Metadata, type ServiceError, status } from "../packages.js";

interface Waiting {
  send(): void;
  fail(code: status, details: string): void;
}

/** Limits the requests in flight. Further requests wait in order until their own deadlines. */
export class InFlight {
  readonly #most: number;
  /** In order of arrival. */
  readonly #waiting = new Set<Waiting>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Calls `send` when fewer requests than the limit are in flight, or `fail` if the deadline or the
   * signal ends the wait first. After `send`, {@link end} must be called once.
   */
  begin(
    { deadlineMs, signal }: { readonly deadlineMs: number; readonly signal?: AbortSignal | undefined },
    send: () => void,
    fail: (error: ServiceError) => void,
  ): void {
    if (this.#count < this.#most) {
      this.#count++;
      send();
      return;
    }
    const leave = () => {
      this.#waiting.delete(waiting);
      timer.cancel();
      stopListening();
    };
    const waiting: Waiting = {
      send: () => {
        leave();
        send();
      },
      fail: (code, details) => {
        leave();
        fail(failure(code, details));
      },
    };
    const late = `not sent: ${this.#most} requests of this process were in flight for ${deadlineMs} ms; raise \`maxInFlight\``;
    // This deadline uses the system's clock, as the deadlines of sent requests do.
    const timer = systemEnvironment.setTimer(() => waiting.fail(status.DEADLINE_EXCEEDED, late), deadlineMs);
    const cancelled = () => waiting.fail(status.CANCELLED, "not sent: the caller cancelled it");
    const stopListening = onAbort(signal, cancelled);
    this.#waiting.add(waiting);
    if (signal?.aborted) cancelled();
  }

  /** Must be called after a request has ended. */
  end(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#count--;
    else next.send();
  }

  /** Fails the waiting requests. */
  close(): void {
    for (const waiting of this.#waiting) waiting.fail(status.CANCELLED, "not sent: the store was closed");
  }
}

function failure(code: status, details: string): ServiceError {
  const error = new Error(`${code} ${status[code]}: ${details}`);
  return Object.assign(error, { code, details, metadata: new Metadata() });
}
