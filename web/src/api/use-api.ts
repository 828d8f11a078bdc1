import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useStore } from "../state/store.js";
import { type ApiError, getJson } from "./client.js";
import { reconnects } from "./stream.js";

export interface Answer<T> {
  /**
   * The newest answer. With `keep`, this is still the answer for the last path until the answer for
   * a new path comes.
   */
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
  readonly isLoading: boolean;
  /** Sends the request again, after the running one if there is one. */
  readonly reload: () => void;
}

/** A path and its answer. */
interface Got<T> {
  readonly path: string;
  readonly data: T | undefined;
  readonly error: ApiError | undefined;
}

/**
 * The answer at a path. It is requested again every `everyMs` while the page is visible, and when the
 * page has connected again. If the path is undefined, nothing is requested. A running request is aborted when the path changes or
 * the view closes. `keep` says whether the last answer stays until the answer for a new path
 * arrives.
 */
export function useApi<T>(path: string | undefined, everyMs?: number, keep = true): Answer<T> {
  const [got, setGot] = useState<Got<T>>();
  const [isLoading, setLoading] = useState(path !== undefined);
  const again = useRef<() => void>(() => {});
  const times = useStore(reconnects);
  useEffect(() => {
    if (path === undefined) return;
    const asking = new Asking<T>(path, everyMs, setGot, setLoading);
    again.current = () => asking.ask();
    asking.ask();
    return () => asking.end();
  }, [path, everyMs, times]);
  const reload = useCallback(() => again.current(), []);
  const isOfPath = got?.path === path;
  const shown = path === undefined || (!isOfPath && !keep) ? undefined : got;
  return {
    data: shown?.data,
    error: isOfPath ? shown?.error : undefined,
    isLoading: path !== undefined && (isLoading || !isOfPath),
    reload,
  };
}

/** Requests for one path, one at a time. */
class Asking<T> {
  readonly #path: string;
  readonly #everyMs: number | undefined;
  readonly #got: (change: (before: Got<T> | undefined) => Got<T>) => void;
  readonly #loading: (isLoading: boolean) => void;
  readonly #ending = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isAsking = false;
  #isDue = false;

  constructor(
    path: string,
    everyMs: number | undefined,
    got: (change: (before: Got<T> | undefined) => Got<T>) => void,
    loading: (isLoading: boolean) => void,
  ) {
    this.#path = path;
    this.#everyMs = everyMs;
    this.#got = got;
    this.#loading = loading;
  }

  /**
   * Asks now. If a request is running, asks when it has ended, since its answer may be older than what
   * the caller wants to see. To abort it instead would show nothing of a row that changes all the time.
   */
  ask(): void {
    this.#isDue = this.#isAsking;
    if (this.#isAsking) return;
    this.#isAsking = true;
    clearTimeout(this.#timer);
    this.#loading(true);
    void this.#get(this.#ending.signal);
  }

  end(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
  }

  async #get(signal: AbortSignal): Promise<void> {
    try {
      const data = await getJson<T>(this.#path, signal);
      if (signal.aborted) return;
      this.#got(() => ({ path: this.#path, data, error: undefined }));
    } catch (error) {
      if (signal.aborted) return;
      this.#got((before) => ({
        path: this.#path,
        data: before?.path === this.#path ? before.data : undefined,
        error: error as ApiError,
      }));
    }
    this.#loading(false);
    this.#isAsking = false;
    if (this.#isDue) this.ask();
    else this.#later();
  }

  #later(): void {
    if (this.#everyMs === undefined) return;
    this.#timer = setTimeout(() => {
      if (document.hidden) this.#later();
      else this.ask();
    }, this.#everyMs);
  }
}
