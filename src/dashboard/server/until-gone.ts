import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { onAbort, unlessAborted } from "../../environment/index.js";
import { AbortedError } from "../../errors/index.js";
import { answer, answerJson } from "./answers.js";
import { failureOf } from "./failure.js";

export type AppContext = Context<{ Bindings: HttpBindings }>;

/** The type of an answer that has a line of JSON for each step. */
export const stepsType = "application/x-ndjson";

/** A signal that is aborted when the client goes away or the dashboard is closed. */
export function goneSignal({ env: { outgoing } }: AppContext, closing: AbortSignal) {
  const ending = new AbortController();
  const abort = () => {
    stopListening();
    ending.abort(new AbortedError("The client closed the connection, or the dashboard was closed."));
  };
  const stopListening = onAbort(closing, abort);
  outgoing.once("close", abort);
  const end = () => {
    stopListening();
    outgoing.off("close", abort);
  };
  return { signal: ending.signal, end };
}

/** Answers a request. Aborts its work when the client goes away or the dashboard is closed. */
export async function untilGone(
  c: AppContext,
  closing: AbortSignal,
  work: (signal: AbortSignal) => Promise<unknown>,
): Promise<Response> {
  const { signal, end } = goneSignal(c, closing);
  try {
    // The work of views that share an answer goes on without this client.
    return answerJson(c, await unlessAborted(work(signal), signal, "Answering a request"));
  } finally {
    end();
  }
}

/**
 * Answers a request with a line for each step of its work, and a last line with the result or the
 * failure. If the client reads slowly, it misses steps, but not the last line.
 */
export function answerSteps(
  c: AppContext,
  closing: AbortSignal,
  work: (signal: AbortSignal, tell: (soFar: object) => void) => Promise<unknown>,
): Response {
  const { signal, end } = goneSignal(c, closing);
  let isCancelled = false;
  const start = (steps: ReadableStreamDefaultController<Uint8Array>) => {
    const write = (value: object) => {
      if (!isCancelled) steps.enqueue(Buffer.from(`${JSON.stringify(value)}\n`));
    };
    const tell = (soFar: object) => {
      if ((steps.desiredSize ?? 0) > 0) write(soFar);
    };
    const run = async () => {
      try {
        write({ ...((await work(signal, tell)) as object), ended: true });
      } catch (error) {
        write(failureOf(error).failure);
      } finally {
        end();
        if (!isCancelled) steps.close();
      }
    };
    // A stream gives nothing before its `start` has returned, so the work goes on by itself.
    void run();
  };
  const cancel = () => {
    isCancelled = true;
  };
  const bound = new ByteLengthQueuingStrategy({ highWaterMark: 16_384 });
  const stream = new ReadableStream<Uint8Array>({ start, cancel }, bound);
  return answer(c, 200, `${stepsType}; charset=utf-8`, stream);
}
