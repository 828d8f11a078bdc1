import { type Costs, costs as usualCosts } from "./costs.js";
import type { Counts } from "./counts.js";
import { exponential } from "./distributions.js";
import { coordinatorClients } from "./gatherer.js";
import { SessionTable } from "./sessions.js";
import type { Design, ScaleSettings, Workload } from "./settings.js";
import { BucketAssignment } from "./shares.js";
import type { Station } from "./station.js";
import { ModelWorker } from "./worker.js";
import { World } from "./world.js";

/** What a run of the model came to. Rates are per second, durations in milliseconds, utilisations from 0 to 1. */
export interface ScaleResult {
  readonly settings: ScaleSettings;
  /** Committed runs. */
  readonly throughput: number;
  /** What the processors alone would allow: throughput of one worker times their number. */
  readonly ideal: number;
  /** What was loaded, in runs. */
  readonly offered: number;
  readonly delay: { readonly p50: number; readonly p99: number };
  readonly duration: { readonly p50: number; readonly p99: number };
  readonly use: {
    /** Mean of the workers' processors. */
    readonly workers: number;
    /** Mean of the tablet servers, and the busiest. */
    readonly servers: number;
    readonly busiest: number;
    readonly system: number;
    readonly hints: number;
    readonly coordinator: number;
  };
  readonly counts: Counts;
  /** Hints that stand at the end. */
  readonly backlog: number;
  /** Hints that were put since the beginning. */
  readonly hintsPut: number;
  /** Of everything that happened. */
  readonly hash: string;
}

/** Processor time of a worker for one run without conflicts, in milliseconds. */
export function processorOfRun(
  { client }: Pick<Costs, "client">,
  { reads, writes, compute, observers }: Workload,
  { gathersReads }: Pick<Design, "gathersReads">,
): number {
  const read = gathersReads ? client.rowSet + reads * client.rowOfSet : reads * client.pointRead;
  const mutations = writes + 1 + 1 + writes;
  const hint = ((observers - 1) / observers) * (client.bulk + client.rowOfBulk);
  const removal = client.rowOfBulk + client.bulk / 10;
  const state = client.pointRead + client.engine;
  return state + (reads === 0 ? 0 : read) + compute + mutations * client.conditionalMutation + hint + removal;
}

/** Runs the model once. */
export function simulateScale(settings: ScaleSettings, costs: Costs = usualCosts): ScaleResult {
  const world = new World(settings, costs);
  const { observers } = settings.workload;
  const shares = new BucketAssignment(settings.workers, observers, world.random.fork("shares"));
  const sessions = new SessionTable(world);
  const connect = coordinatorClients(world);
  const workers = Array.from({ length: settings.workers }, (_, number) => {
    const worker = new ModelWorker(world, number, shares, connect);
    world.loop.at(world.random.next() * 50, () => worker.scanner.wake());
    sessions.start(worker);
    return worker;
  });
  const ideal = (1_000 / processorOfRun(costs, settings.workload, settings.design)) * settings.workers;
  startLoading(world, (ideal * settings.load) / observers);
  world.loop.runUntil(settings.warmUp * 1_000);
  world.counts.clear();
  const stations = [...world.servers, world.coordinator, ...workers.map((worker) => worker.processor)];
  for (const station of stations) station.countFrom(world.loop.now);
  world.loop.runUntil((settings.warmUp + settings.counted) * 1_000);
  return resultOf(world, workers, ideal);
}

/** Hints for each worker that stand at most: loaders wait while there are more. */
const waitingOfWorker = 300;

/** Documents come at random; each is one hint of the first observer. Loaders are elsewhere, but write to the same servers. */
function startLoading(world: World, documentsPerSecond: number): void {
  const { tablet } = world.costs;
  const { load: part, workers } = world.settings;
  const most = waitingOfWorker * workers;
  if (part > 1) for (let hint = 0; hint < most; hint++) world.hints.put(0, 0);
  const load = () => {
    if (world.hints.size < most) loadOne();
    world.loop.after(exponential(world.random, 1_000 / documentsPerSecond), load);
  };
  const loadOne = () => {
    world.counts.loaded++;
    for (let step = 0; step < 2; step++) {
      world.dataServer().serve(world.loop.now + world.costs.network, tablet.conditionalMutation);
    }
    const hint = world.hints.put(0, world.loop.now);
    world.hintServer(hint).serve(world.loop.now + world.costs.network, tablet.write);
  };
  world.loop.at(0, load);
}

function resultOf(world: World, workers: readonly ModelWorker[], ideal: number): ScaleResult {
  const { counts, loop, settings } = world;
  const mean = (stations: readonly Station[]) =>
    stations.reduce((sum, station) => sum + station.utilisation(loop.now), 0) / stations.length;
  const use = world.servers.map((server) => server.utilisation(loop.now));
  const hintServers = Array.from({ length: settings.workload.observers * 64 }, (_, bucket) =>
    world.hintServer({ observer: Math.floor(bucket / 64), place: (bucket % 64) * 256 }),
  );
  return {
    settings,
    throughput: counts.committed / settings.counted,
    ideal,
    offered: (counts.loaded * settings.workload.observers) / settings.counted,
    delay: { p50: counts.delay.quantile(0.5), p99: counts.delay.quantile(0.99) },
    duration: { p50: counts.duration.quantile(0.5), p99: counts.duration.quantile(0.99) },
    use: {
      workers: mean(workers.map((worker) => worker.processor)),
      servers: mean(world.servers),
      busiest: use.reduce((most, each) => Math.max(most, each), 0),
      system: world.systemServer.utilisation(loop.now),
      hints: Math.max(...hintServers.map((server) => server.utilisation(loop.now))),
      coordinator: world.coordinator.utilisation(loop.now),
    },
    counts,
    backlog: world.hints.size,
    hintsPut: world.hints.everPut,
    hash: world.hash,
  };
}
