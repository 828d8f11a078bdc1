import type { Metadata, ServerDuplexStream, ServerUnaryCall, sendUnaryData } from "@grpc/grpc-js";
import { CoordinatorError } from "../../errors/index.js";
import type { Admission } from "../security/admission.js";
import { refusalOf } from "../wire/call-status.js";
import type { Received } from "../wire/message-codec.js";

/** A stream of a client, as its server sees it. */
export type ServerStream<Request, Reply> = ServerDuplexStream<Received<Request>, Received<Reply>>;

/** Told of what is wrong with this process, and not with a call. */
export type ReportFailure = (doing: string, error: unknown) => void;

/** Answers a call of one request; what `answer` throws becomes the call's status. */
export function answering<Request, Reply>(
  admission: Admission,
  answer: (request: Request) => Reply,
): (
  call: ServerUnaryCall<Received<Request>, Received<Reply>>,
  reply: sendUnaryData<Received<Reply>>,
) => void {
  return (call, reply) => {
    try {
      admission.check(call.metadata);
      const { request } = call;
      if (request instanceof CoordinatorError) throw request;
      reply(null, answer(request));
    } catch (error) {
      reply(refusalOf(error));
    }
  };
}

/** What serves one stream. */
export interface StreamServer<Request, Reply> {
  /** Answers one request; the next is taken only after it. */
  answer(request: Request): Reply | Promise<Reply>;
  /** The client sends no more, or is gone. Called once. */
  end(): void;
}

/**
 * Serves a stream request by request: one is taken when the one before it was answered, and when the client has taken enough of
 * the answers. `open` begins it; what it throws ends the stream, as does what the server throws later.
 */
export function serveStream<Request, Reply>(
  stream: ServerStream<Request, Reply>,
  open: (metadata: Metadata, fail: (error: unknown) => void) => StreamServer<Request, Reply>,
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
  // Errors that are emitted above come here too.
  stream.on("error", end);
  stream.on("cancelled", end);
  try {
    server = open(stream.metadata, fail);
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
