/** A request that the client has sent, and the stream of its response. */
export interface Call {
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
  /** Sends text, or bytes of it. */
  send(text: string | Uint8Array): void;
  /** Ends the response. */
  end(): void;
  /** Breaks the connection off. */
  break(): void;
}

/** A network and a server that a test drives by hand. */
export class FakeWire {
  readonly calls: Call[] = [];
  /** What the next requests get: a response, or an error of the network. Default: a stream of events. */
  readonly answers: (Response | Error | "hangs")[] = [];

  readonly fetch: typeof fetch = async (input, init) => {
    const signal = init!.signal as AbortSignal;
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (given) => {
        controller = given;
      },
    });
    const encoder = new TextEncoder();
    const call: Call = {
      url: String(input),
      headers: new Headers(init!.headers as Record<string, string>),
      signal,
      send: (text) => controller.enqueue(typeof text === "string" ? encoder.encode(text) : text),
      end: () => controller.close(),
      break: () => controller.error(new TypeError("terminated")),
    };
    this.calls.push(call);
    signal.addEventListener("abort", () => {
      try {
        call.break();
      } catch {
        // It has ended before.
      }
    });
    const answer = this.answers.shift();
    if (answer === "hangs") {
      return await new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    }
    if (answer instanceof Error) throw answer;
    return answer ?? new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
  };

  get last(): Call {
    return this.calls.at(-1)!;
  }
}

/** Lets everything that needs no time happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
