import { changesOf, isSettled, readEntries } from "../../live/index.js";
import { load, loadRowsPrefix, type Registry, registryRows } from "../../observer/index.js";
import { currentTimestamp } from "../../oracle/index.js";
import type { Feed } from "../../schema/index.js";
import { addressKey, hintTable, type ReadInfo, safepointCell, systemTable } from "../../transaction/index.js";
import { watchOutcomes } from "../invariants/index.js";
import {
  counterPlace,
  DistantStore,
  namedPlace,
  overlap,
  type Place,
  rangePlace,
  rowPlace,
} from "../world/index.js";
import type { ClientHandle, FeedReading, WorkTurns } from "./client-handle.js";
import type { ExploredClient } from "./explored-client.js";
import { hasHints, hintsBetween } from "./has-hints.js";
import { ExploredProcess } from "./process.js";
import type { ExploredWorld } from "./world.js";

const registryPlace = rangePlace(systemTable, registryRows.start, registryRows.end);
const loadsPlace = rangePlace(systemTable, Buffer.from(loadRowsPrefix), Buffer.from(`${loadRowsPrefix}~`));
const safepointPlace = rowPlace(safepointCell.table, safepointCell.row);

/** Creates a client's process. From now on all its requests go through the explorer. */
export async function connect(world: ExploredWorld, client: ExploredClient): Promise<ClientHandle> {
  const { name, environment } = client;
  const store = new DistantStore({
    store: world.store,
    network: client,
    isImmediate: (places, changes) => isImmediate(world, client, places, changes),
  });
  const oracle = world.oracleOf(client);
  const process = new ExploredProcess({
    name,
    store,
    oracle,
    environment,
    commit: world.commitMode(name),
    observers: world.program.observers ?? [],
    view: world.snapshot.view,
    hasSessions: world.program.sessions,
    alive: (session) => ask(world, client, session),
    read: (info) => tellRead(world, client, info),
  });
  await process.learn(world.program.tables ?? []);
  watchOutcomes(world.watcher, process.context.events);
  const work = (turns: WorkTurns = {}) =>
    process.work({ ...turns, untilDue: () => untilHints(world, client) });
  client.isDirect = false;
  const register: ClientHandle["register"] = async (observers, feeds) => {
    await process.registry.register([], observers, feeds);
    await process.registry.untilAllKnown(observers, feeds);
  };
  return {
    name,
    db: process.db,
    store,
    oracle,
    environment,
    network: client,
    shared: world.shared,
    work,
    register,
    readFeed: (feed, since) => readFeed(process.registry, feed, since),
    isSettled: (commitTimestamp, isOlder = false) => isSettled(process.registry, commitTimestamp, isOlder),
    load: (name, parts, batchRows = 1) => load(process.registry, name, parts, { batchRows }),
    die: () => {
      world.stop(client);
      return new Promise(() => {});
    },
    outlives: (other) => untilDead(world, client, other),
  };
}

async function readFeed(
  registry: Registry,
  feed: Feed,
  given: number | undefined,
): Promise<FeedReading | "lost"> {
  const { context } = registry;
  const recorded = async () => (await registry.reload()).feedRecords.get(feed.name)?.record.since;
  const before = await recorded();
  const since = given ?? (await currentTimestamp(context));
  const upTo = await currentTimestamp(context);
  const read = { feed: feed.name, since, upTo, limit: 100 };
  const { entries } = upTo === since ? { entries: [] } : await readEntries(context, read);
  if (before === undefined || (await recorded()) !== before) return "lost";
  const changed = entries.flatMap((entry) => [...changesOf(entry, feed.columns)]);
  return { since, upTo, rows: changed.map(({ row }) => String(row)) };
}

/** Whether no other request can interfere with this one, so that it needs no step of its own. */
function isImmediate(
  world: ExploredWorld,
  client: ExploredClient,
  places: readonly Place[],
  changes: boolean,
): boolean {
  const { systemRequests = "none" } = world.program;
  if (changes) return false;
  if (places[0]?.table === hintTable) return isIdleLook(world, places[0]);
  // A two-phase transaction reads the counter only to protect itself from garbage collection. If
  // `systemRequests` is "none", no client collects garbage.
  if (places[0] === counterPlace)
    return systemRequests === "none" && world.commitMode(client.name) === "two-phase";
  if (places.some((place) => place.table !== systemTable)) return false;
  const isOf = (other: Place) => places.some((place) => overlap(place, other));
  if (systemRequests === "registry") return !isOf(registryPlace);
  if (systemRequests === "loads") return !isOf(registryPlace) && !isOf(loadsPlace);
  if (systemRequests === "safepoint") return !isOf(safepointPlace);
  return systemRequests === "none";
}

/**
 * Whether this read of the hints needs no step of its own, because it finds none. A hint that is added
 * to its range later comes too late for this scan.
 */
function isIdleLook(world: ExploredWorld, { from, to }: Place): boolean {
  const isRow = to === `${from}\0`;
  return !isRow && !hintsBetween(world.store, from, to);
}

function tellRead(
  { watcher }: ExploredWorld,
  client: ExploredClient,
  { startTimestamp, cell, commit, value }: ReadInfo,
): void {
  client.read(`${startTimestamp} ${addressKey(cell)} ${commit}`);
  watcher.read({ start: startTimestamp, ...cell, commit, value });
}

function ask(world: ExploredWorld, client: ExploredClient, session: string): boolean | Promise<boolean> {
  const other = world.clients.find((each) => each.name === session);
  if (other === undefined || client.isDirect) return false;
  // If no client can stop and no guess can be wrong, nothing can interfere.
  if (!world.may("stops") && !world.may("wrongGuesses")) return !other.isStopped;
  return client.send<boolean>({
    kind: "question",
    places: [namedPlace(`life of ${session}`)],
    changes: false,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => `does ${session} live?`,
    apply: () => !other.isStopped,
    lost: () => true,
    show: (lives) => (lives ? "yes" : "no"),
    digest: String,
    otherAnswers: [{ name: "no, wrongly", answer: false }],
  });
}

function untilDead(world: ExploredWorld, client: ExploredClient, name: string): Promise<boolean> {
  const isDead = () => world.clients.find((each) => each.name === name)?.isStopped === true;
  return client.send<boolean>({
    kind: "wait",
    places: [namedPlace(`life of ${name}`)],
    changes: false,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => `wait for the end of ${name}`,
    apply: isDead,
    lost: () => false,
    show: (found) => (found ? "it is dead" : "it lives on"),
    digest: String,
    ready: isDead,
  });
}

/** Resolves to true when there are hints, or to false when no other client can continue. */
function untilHints(world: ExploredWorld, client: ExploredClient): Promise<boolean> {
  const stand = () => hasHints(world.store, world.program.observers ?? []);
  return client.send<boolean>({
    kind: "wait",
    places: [{ table: hintTable, from: "", to: undefined }],
    changes: false,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => "wait for hints",
    apply: stand,
    lost: () => false,
    show: (found) => (found ? "some stand" : "there are none"),
    digest: String,
    ready: stand,
  });
}
