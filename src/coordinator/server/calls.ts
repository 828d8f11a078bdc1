import type { ServerDuplexStream, ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import { CoordinatorError } from "../../errors/index.js";
import { refusalOf } from "../wire/call-status.js";
import type { Received } from "../wire/message-codec.js";

/** A client's stream, as the server sees it. */
export type ServerStream<Request, Reply> = ServerDuplexStream<Received<Request>, Received<Reply>>;

/** Called with failures of this process itself, as opposed to failures of one call. */
export type ReportFailure = (doing: string, error: unknown) => void;

/** Answers a unary call. An error that `answer` throws becomes the status of the call. */
export function answering<Request, Reply>(
  answer: (request: Request) => Reply,
): (
  call: ServerUnaryCall<Received<Request>, Received<Reply>>,
  reply: sendUnaryData<Received<Reply>>,
) => void {
  return (call, reply) => {
    try {
      const { request } = call;
      if (request instanceof CoordinatorError) throw request;
      reply(null, answer(request));
    } catch (error) {
      reply(refusalOf(error));
    }
  };
}

/** Answers the requests of one stream. */
export interface StreamServer<Request, Reply> {
  /** Answers one request. The next request is read only after this answer. */
  answer(request: Request): Reply | Promise<Reply>;
  /** Called once, when the client has finished or has disconnected. */
  end(): void;
}

/**
 * Serves a stream one request at a time. It reads the next request only after it has answered the
 * previous one, and only while the client keeps reading the answers. `open` makes the stream's
 * `StreamServer`. An error from `open` or from the `StreamServer` ends the stream.
 */
export function serveStream<Request, Reply>(
  stream: ServerStream<Request, Reply>,
  open: (fail: (error: unknown) => void) => StreamServer<Request, Reply>,
): void {
  let server: StreamServer<Request, Reply> | undefined;
  let isOver = false;
  const end = () => {
    if (isOver) return;
    isOver = true;
    server?.end();
  };
  const fail = (error: unknown) => {
    if (isOver) return;
    end();
    stream.emit("error", refusalOf(error));
  };
  // This listener also gets the errors that `fail` emits.
  stream.on("error", end);
  stream.on("cancelled", end);
  try {
    server = open(fail);
  } catch (error) {
    fail(error);
    return;
  }
  const taken = (reply: Reply) => {
    if (isOver) return;
    if (stream.write(reply)) stream.resume();
    else stream.once("drain", () => stream.resume());
  };
  stream.on("data", (request: Received<Request>) => {
    if (isOver) return;
    if (request instanceof CoordinatorError) {
      fail(request);
      return;
    }
    stream.pause();
    try {
      const reply = server!.answer(request);
      if (reply instanceof Promise) reply.then(taken, fail);
      else taken(reply);
    } catch (error) {
      fail(error);
    }
  });
  stream.on("end", () => {
    if (isOver) return;
    end();
    stream.end();
  });
}
