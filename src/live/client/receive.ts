import { type LiveClientEnvironment, type LiveClientOptions, LiveError, type LiveState } from "./options.js";

/** An event as the server sends it. */
export interface Message {
  event: string;
  id: string | undefined;
  data: string;
}

/** A value for the program, and the id of the event that it came with. */
export interface Received<T> {
  readonly id: string | undefined;
  readonly value: T;
}

const firstRetryMs = 1_000;

/** The browser's time and randomness. */
const browser: LiveClientEnvironment = {
  setTimer(callback, delayMs) {
    // A timer of 2^31 ms or more ends at once.
    const timer = setTimeout(callback, Math.min(delayMs, 2e9));
    return { cancel: () => clearTimeout(timer) };
  },
  random: Math.random,
};

/** The events of an `EventTarget`, which the global object is in browsers only. */
const target = globalThis as Partial<Pick<EventTarget, "addEventListener" | "removeEventListener">>;

/**
 * Yields what the server sends, and connects again after each failure, until the signal is aborted
 * or a failure is final. It then throws that failure.
 *
 * An event counts as handled when the caller asks for the next one. Until then, another connection
 * begins with it again. An error that the caller throws into the generator is a failure like others.
 */
export async function* receive<T>(
  url: string,
  options: LiveClientOptions,
  {
    signal,
    onState,
    decode,
  }: {
    readonly signal: AbortSignal;
    readonly onState: (state: LiveState) => void;
    /** What the program gets of some events that arrived together. */
    readonly decode: (messages: readonly Message[]) => readonly Received<T>[];
  },
): AsyncGenerator<T, void, undefined> {
  const { environment = browser, quietMs = 40_000, maxRetryMs = 30_000, onError } = options;
  let id = options.lastEventId;
  let failures = 0;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    signal.addEventListener("abort", stop);
    let isQuiet = false;
    let isHandling = false;
    let retryAfterMs = 0;
    const watch = () =>
      environment.setTimer(() => {
        isQuiet = true;
        stop();
      }, quietMs);
    let watchdog = watch();
    const stopped = () =>
      new Promise<never>((_, reject) => {
        attempt.signal.onabort = reject;
      });
    let error: LiveError | undefined;
    try {
      onState("connecting");
      const { headers } = options;
      const response = await (options.fetch ?? fetch)(url, {
        headers: {
          ...(typeof headers === "function" ? await Promise.race([headers(), stopped()]) : headers),
          accept: "text/event-stream",
          ...(id && { "last-event-id": id }),
        },
        credentials: options.credentials ?? "same-origin",
        signal: attempt.signal,
      });
      retryAfterMs = Number(response.headers.get("retry-after")) * 1_000 || 0;
      if (!response.ok || !response.headers.get("content-type")?.startsWith("text/event-stream")) {
        throw await refusal(response);
      }
      onState("open");
      const reader = response.body!.getReader();
      const decoder = new TextDecoder();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        watchdog.cancel();
        const blocks = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
        rest = blocks.pop()!;
        if (blocks.some((block) => block.startsWith(":"))) failures = 0;
        const messages = blocks.map(parse).filter(({ data }) => data);
        for (const received of decode(messages.filter(({ event }) => event !== "error"))) {
          isHandling = true;
          yield received.value;
          isHandling = false;
          failures = 0;
          id = received.id ?? id;
        }
        const failed = messages.find(({ event }) => event === "error");
        if (failed) {
          const { code, isFinal } = JSON.parse(failed.data) as { code: string; isFinal: boolean };
          throw new LiveError(code, `The server reports ${code}.`, { isFinal });
        }
        watchdog = watch();
      }
    } catch (cause) {
      if (cause instanceof LiveError) error = cause;
      else if (isHandling)
        error = new LiveError("HANDLER", `The program failed: ${String(cause)}`, { cause });
      else if (isQuiet) error = new LiveError("QUIET", `The server sent nothing for ${quietMs} ms.`);
      else error = new LiveError("NETWORK", `The connection failed: ${String(cause)}`, { cause });
    } finally {
      watchdog.cancel();
      signal.removeEventListener("abort", stop);
      stop();
    }
    if (signal.aborted) return;
    if (error?.isFinal) throw error;
    if (error) onError?.(error);
    onState("waiting");
    const ceiling = Math.min(maxRetryMs, firstRetryMs * 2 ** failures++);
    await pause(environment, Math.min(maxRetryMs, retryAfterMs) + ceiling * environment.random(), signal);
  }
}

/** Waits until the time is over, the browser is online again, or the signal is aborted. */
function pause(environment: LiveClientEnvironment, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      target.removeEventListener?.("online", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = environment.setTimer(done, ms);
    target.addEventListener?.("online", done);
    signal.addEventListener("abort", done);
  });
}

/** Lines of data are JSON, so they need no line ends between them. */
function parse(block: string): Message {
  const message: Message = { event: "", id: undefined, data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ""] = /^(event|id|data): ?(.*)$/s.exec(line) ?? [];
    if (name === "id") message.id = value;
    else if (name) message[name as "event" | "data"] += value;
  }
  return message;
}

/** The reason of a response that has no events. */
async function refusal(response: Response): Promise<LiveError> {
  const { status } = response;
  const told = (await response.json().catch(() => undefined)) as
    | { code?: string; message?: string }
    | undefined;
  // A page with the status 200, such as that of a login, will not become a stream of events.
  const isFinal = status < 500 && status !== 408 && status !== 429;
  return new LiveError(
    told?.code ?? "HTTP",
    told?.message ?? `The server answered with the status ${status}.`,
    {
      isFinal,
      status,
    },
  );
}
