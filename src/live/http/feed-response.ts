import { onAbort } from "../../environment/index.js";
import { LimitExceededError } from "../../errors/index.js";
import type { Feed, FeedColumn } from "../../schema/index.js";
import type { CellChange } from "../index.js";
import type { ServerEvent } from "./event-stream.js";
import { encodeJson } from "./json.js";
import { lastFeedId } from "./last-event-id.js";
import { defaultMaxBytes } from "./live-response.js";
import { checkFeedOptions, type FeedResponseOptions } from "./options.js";
import { respond, type ServerEvents } from "./respond.js";
import type { FeedDatabase } from "./sources.js";

const defaultBatch = 100;
/** The most bytes of a `cells` event, unless one cell alone has more. */
const cellsBytes = 65_536;

/** An event of `db.follow`, with any columns. `db.changes` has only those of type `change`. */
type FollowStep =
  | { readonly type: "reset"; readonly timestamp: number }
  | { readonly type: "cell"; readonly change: CellChange }
  | { readonly type: "ready"; readonly timestamp: number }
  | { readonly type: "change"; readonly change: CellChange };

/**
 * Answers a request with the changes of a feed as server-sent events: one event for each
 * transaction, with an array of its changes, and its commit timestamp as the id. A client that
 * reconnects with `Last-Event-ID` gets the transactions after that one, none twice. A slow client
 * holds nothing up: its changes stay in the feed until it takes them.
 *
 * A client without `Last-Event-ID` gets a `ready` event with the timestamp from which on it gets
 * changes. With `snapshot: true`, it gets `reset`, then every cell in `cells` events, then `ready`.
 * If a client was away for longer than the feed keeps its changes, it gets the same, or without
 * `snapshot` the status 410.
 *
 * @throws InvalidArgumentError for an invalid option.
 *
 * @example
 * app.get("/feeds/orders", (c) => feedResponse(db, orderFeed, c.req.raw, { snapshot: true }));
 */
export async function feedResponse<C extends FeedColumn>(
  db: FeedDatabase,
  feed: Feed<C>,
  request: Request,
  options: FeedResponseOptions = {},
): Promise<Response> {
  checkFeedOptions(options);
  const { maxBytes = defaultMaxBytes } = options;
  return await respond(db, request, options, async (signal) => {
    const since = lastFeedId(request);
    const opened = await openFeed(db, feed, { ...options, since, signal });
    return feedEvents(opened, maxBytes);
  });
}

interface OpenedFeed {
  readonly steps: AsyncGenerator<FollowStep, void, undefined>;
  /** What was asked for to open the feed. */
  readonly first: Promise<IteratorResult<FollowStep, void>>;
  /** The timestamp after which changes come. Undefined if the client knows it, or will be told. */
  readonly since: number | undefined;
  /** Whether the client has an id, and so gets no `ready`. */
  readonly isContinued: boolean;
}

/** Waits until it is certain that the feed can begin, so that a failure has a status of its own. */
async function openFeed(
  db: FeedDatabase,
  feed: Feed,
  options: FeedResponseOptions & { readonly since: number | undefined; readonly signal: AbortSignal },
): Promise<OpenedFeed> {
  const { since, signal, batch = defaultBatch, snapshot = false } = options;
  let begin: (timestamp: number) => void = () => undefined;
  const begun = new Promise<number>((resolve) => {
    begin = resolve;
  });
  const reading = { since, signal, batch, onBegin: begin };
  const steps = snapshot
    ? db.follow<FeedColumn>(feed, reading)
    : stepsOf(db.changes<FeedColumn>(feed, reading));
  const first = steps.next();
  // A failure that comes later is thrown to the reader of the events.
  first.catch(() => undefined);
  // The client may leave before its events are read, or between two of them.
  onAbort(signal, () => void steps.return(undefined).catch(() => undefined));
  const from = await Promise.race([begun, first]);
  const isNew = typeof from === "number" && since === undefined && !snapshot;
  return { steps, first, since: isNew ? from : undefined, isContinued: since !== undefined };
}

async function* stepsOf(changes: AsyncGenerator<CellChange, void, undefined>): AsyncGenerator<FollowStep> {
  for await (const change of changes) yield { type: "change", change };
}

async function* feedEvents({ steps, first, since, isContinued }: OpenedFeed, maxBytes: number): ServerEvents {
  if (since !== undefined) yield stateEvent("ready", since);
  else if (isContinued) yield "comment";
  const cells = new JsonArray("A cell", maxBytes);
  const changes = new JsonArray("A transaction", maxBytes);
  for (let next = await first; !next.done; next = await steps.next()) {
    const step = next.value;
    if (step.type === "cell") {
      const json = encodeJson(shownChange(step.change));
      const isFull = !cells.fits(json, Math.min(cellsBytes, maxBytes));
      if (isFull && cells.count > 0) yield { event: "cells", data: cells.take() };
      cells.add(json);
    } else if (step.type === "change") {
      changes.add(encodeJson(shownChange(step.change)));
      const { isLast, commitTimestamp } = step.change;
      if (isLast) yield { id: String(commitTimestamp), data: changes.take() };
    } else {
      if (cells.count > 0) yield { event: "cells", data: cells.take() };
      yield stateEvent(step.type, step.timestamp);
    }
  }
}

/** A client continues after `ready`. A snapshot that it has only a part of begins again. */
function stateEvent(event: "reset" | "ready", timestamp: number): ServerEvent {
  const id = event === "ready" ? String(timestamp) : undefined;
  return { event, id, data: JSON.stringify({ timestamp }) };
}

/** A change as clients get it: with the name of its column, and without what is undefined. */
function shownChange(change: CellChange): object {
  const { commitTimestamp, table, row, column, qualifier, value, isDeleted, label, observer } = change;
  const shown = { commitTimestamp, table, row, column: column.name, qualifier, value, isDeleted };
  return { ...shown, label, observer };
}

/** An array of JSON that grows up to a limit. */
class JsonArray {
  readonly #what: string;
  readonly #maxBytes: number;
  #parts: string[] = [];
  /** The bytes so far, with brackets and commas. */
  #bytes = 2;

  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  get count(): number {
    return this.#parts.length;
  }

  /** Whether the array has at most `bytes` bytes with one more element. */
  fits(json: string, bytes: number): boolean {
    return this.#bytes + Buffer.byteLength(json) + 1 <= bytes;
  }

  add(json: string): void {
    if (!this.fits(json, this.#maxBytes)) {
      throw new LimitExceededError(
        `${this.#what} of a feed has more than ${this.#maxBytes} bytes of JSON, the most of an event. Raise \`maxBytes\`.`,
      );
    }
    this.#bytes += Buffer.byteLength(json) + 1;
    this.#parts.push(json);
  }

  take(): string {
    const json = `[${this.#parts.join(",")}]`;
    this.#parts = [];
    this.#bytes = 2;
    return json;
  }
}
