import { onAbort } from "../../environment/index.js";
import { ClosedError, NotLeaderError, OracleUnavailableError } from "../../errors/index.js";
import { type GatheredOracle, gatheredOracle, type TimestampRange } from "../../oracle/index.js";
import { coordinatorLimits as limits } from "../limits.js";
import { brokenMessage } from "../wire/message-check.js";
import type { Received } from "../wire/message-codec.js";
import { coordinatorService } from "../wire/service.js";
import type { Channel, ClientStream } from "./channel.js";
import type { ConnectOptions } from "./connect-options.js";
import type { LeaderConnection } from "./leader-connection.js";

/** Takes timestamps from the leader, over one stream with one request at a time. */
export function remoteOracle(connection: LeaderConnection, options: ConnectOptions): GatheredOracle {
  const { environment, maxAtOnce, maxWaiting, retryForMs } = options;
  let stream: TimestampStream | undefined;
  const streamOver = (channel: Channel): TimestampStream => {
    if (stream?.channel !== channel || stream.isOver) {
      stream?.cancel();
      stream = new TimestampStream(channel);
    }
    return stream;
  };
  const doing = "Asking the coordinator for timestamps";
  return gatheredOracle({
    environment,
    maxAtOnce: Math.min(maxAtOnce ?? 10_000, limits.timestamps),
    maxWaiting,
    retryForMs,
    request: (count, signal) =>
      connection
        .ask(doing, signal, (channel, bounded) => streamOver(channel).request(count, bounded))
        .catch(asUnavailable),
    onClose: () => stream?.cancel(),
  });
}

/**
 * Turns a `NotLeaderError` into an `OracleUnavailableError`, because callers of an oracle know
 * nothing of leaders.
 */
function asUnavailable(error: unknown): never {
  if (!(error instanceof NotLeaderError)) throw error;
  throw new OracleUnavailableError(
    `No coordinator assigns timestamps now: ${error.message} The request was repeated until \`retryForMs\` was over.`,
    { cause: error },
  );
}

interface Waiting {
  readonly resolve: (range: TimestampRange) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A stream of timestamps from one coordinator. An abandoned request ends the stream. Otherwise its
 * late answer could be taken for the answer to the next request.
 */
class TimestampStream {
  readonly channel: Channel;
  readonly #stream: ClientStream<number, TimestampRange>;
  #waiting: Waiting | undefined;
  #isOver = false;

  constructor(channel: Channel) {
    this.channel = channel;
    this.#stream = channel.open(coordinatorService.timestamps);
    this.#stream.on("data", (reply: Received<TimestampRange>) => this.#take(reply));
    this.#stream.on("error", (error) => this.#end(error));
    this.#stream.on("end", () =>
      this.#end(new ClosedError("The coordinator ended the stream of timestamps.")),
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  request(count: number, signal: AbortSignal): Promise<TimestampRange> {
    return new Promise((resolve, reject) => {
      const end = onAbort(signal, () => this.cancel());
      this.#waiting = {
        resolve: (range) => {
          end();
          resolve(range);
        },
        reject: (error) => {
          end();
          reject(error);
        },
      };
      this.#stream.write(count);
    });
  }

  cancel(): void {
    this.#end(new OracleUnavailableError("The request for timestamps was cancelled."));
    this.#stream.cancel();
  }

  #take(reply: Received<TimestampRange>): void {
    const waiting = this.#waiting;
    if (reply instanceof Error || waiting === undefined) {
      this.#end(reply instanceof Error ? reply : brokenMessage("an answer without a request"));
      this.#stream.cancel();
      return;
    }
    this.#waiting = undefined;
    waiting.resolve(reply);
  }

  #end(error: unknown): void {
    this.#isOver = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }
}
