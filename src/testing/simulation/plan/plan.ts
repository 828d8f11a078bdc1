import type { SeededRandom } from "../../world/index.js";
import { type Clocks, trueClocks } from "../world/machine.js";
import {
  type FaultKind,
  faultKinds,
  type NetworkFault,
  networkFaults,
  type OracleFault,
  oracleFaults,
  type ProcessFault,
  processFaults,
} from "./fault.js";

/**
 * The kinds of store that a run can have. `one-phase`, `two-phase`: a store with atomic batches,
 * and how all processes commit on it. `mixed`: the same, with a random choice for each process.
 * `rows`: a store of one-row mutations with a separate oracle. `elected`: the same, with an oracle
 * that has two candidates, of which the holder of the lease leads. `lmdb`: real LMDB in a temporary
 * folder. `server`: a store with atomic batches that is remote, as PostgreSQL is, so that processes
 * use copies of the registry and the safepoint. On these two, processes commit in one phase, in two,
 * or mixed. All except `lmdb` are memory stores.
 */
export type SimulatedStore = "one-phase" | "two-phase" | "mixed" | "rows" | "elected" | "lmdb" | "server";

/** Every kind of store that a simulation knows. */
export const simulatedStores: readonly SimulatedStore[] = [
  "one-phase",
  "two-phase",
  "mixed",
  "rows",
  "elected",
  "lmdb",
  "server",
];

/** A fault of a whole process, due after a certain number of its events. */
export interface Incident {
  readonly name: string;
  readonly kind: ProcessFault | OracleFault;
  /** Index of the client, or of the oracle's candidate. */
  readonly target: number;
  readonly atEvent: number;
  /**
   * Duration of the incident, time until a replacement starts, or size of a clock jump, in
   * milliseconds.
   */
  readonly ms: number;
}

/** Everything about a run that is drawn before it begins. */
export interface Plan {
  readonly store: SimulatedStore;
  /** How each client's process commits, if the store leaves a choice. */
  readonly commits: readonly ("auto" | "two-phase")[];
  readonly latencyMs: number;
  readonly timeoutMs: number;
  /** Longest time between sending and arrival, in milliseconds. */
  readonly maxDelayMs: number;
  readonly retentionMs: number;
  readonly lockTtlMs: number;
  readonly collectEveryMs: number;
  readonly inlineBytes: number;
  readonly mutationCells: number;
  readonly pageCells: number;
  /**
   * Whether the store declares bulk mutations, so that secondaries are committed without guards.
   */
  readonly bulkMutations: boolean;
  /** LMDB only: whether a commit is answered after its flush or before it. */
  readonly durability: "full" | "none";
  /**
   * LMDB only: requests within one interval of this many milliseconds are sent together. 0 sends
   * each alone.
   */
  readonly groupEveryMs: number;
  readonly leaseMs: number;
  readonly knowsProcesses: boolean;
  /** Whether the run checks every read. If not, processes use the fastest way of reading. */
  readonly watchesReads: boolean;
  /** Which clients' processes have a worker. */
  readonly workers: readonly boolean[];
  readonly clocks: readonly Clocks[];
  readonly oracleClocks: readonly Clocks[];
  readonly rates: Readonly<Record<NetworkFault, number>>;
  readonly incidents: readonly Incident[];
  /** Kinds of faults that may happen. */
  readonly faults: readonly FaultKind[];
}

export interface PlanOptions {
  readonly clients: number;
  readonly hasObservers: boolean;
  readonly stores: readonly SimulatedStore[];
  /** The faults to draw from. */
  readonly faults: readonly FaultKind[];
  /** Factor by which a run is longer than usual. */
  readonly length: number;
}

type WeightedKind = Exclude<SimulatedStore, keyof typeof shares>;

const weights: Readonly<Record<WeightedKind, number>> = {
  "one-phase": 3,
  "two-phase": 2,
  mixed: 2,
  rows: 3,
  elected: 3,
};

/** How the processes commit on the kinds that have a share. */
const sharedCommits = ["one-phase", "two-phase", "mixed"] as const;

/**
 * Shares of the runs that use these kinds if others may be drawn too. What the other runs draw does
 * not depend on them. A run on LMDB takes longer than one on a memory store.
 */
const shares = { lmdb: 0.05, server: 0.15 } as const;
/** Faults that cannot happen between a process and a store within the process. */
const notEmbedded: ReadonlySet<FaultKind> = new Set(["lostRequest", "lostAnswer", "late", "twice", "cut"]);

/** Draws the plan of a run: its store, its faults, and how often they happen. */
export function drawPlan(random: SeededRandom, options: PlanOptions): Plan {
  const settings = random.fork("settings");
  const lmdb = random.fork("lmdb");
  const shared = options.stores.filter((kind) => kind in shares) as (keyof typeof shares)[];
  const kinds = options.stores.filter((kind) => kind in weights) as WeightedKind[];
  const byShare =
    kinds.length === 0
      ? random.fork("shares").pick(shared)
      : shared.find((kind) => random.fork(`${kind} share`).chance(shares[kind]));
  const byWeight = weighted(settings, kinds.length === 0 ? sharedCommits : kinds);
  const store = byShare ?? byWeight;
  const commit = byShare === undefined ? byWeight : lmdb.pick(sharedCommits);
  const drawn = drawFaults(random.fork("faults"), options.faults);
  const faults = store === "lmdb" ? drawn.filter((kind) => !notEmbedded.has(kind)) : drawn;
  const may = (kind: FaultKind) => faults.includes(kind);
  const isOfRows = store === "rows" || store === "elected";
  const latencyMs = logUniform(settings, 0.2, 8);
  const timeoutMs = logUniform(settings, 50, 800);
  const errors = clockErrors(random.fork("clocks"), may, options.clients);
  const maxDelayMs = logUniform(settings, Math.max(50, 3 * latencyMs), isOfRows ? 4_000 : 8_000);
  // A store of one-row mutations needs every request to arrive within the retention. Differences
  // between clocks shorten the retention.
  const minRetentionMs = commit === "one-phase" ? 0 : maxDelayMs + errors.worstMs;
  const collects = settings.chance(0.5);
  const bulkMutations = isOfRows && random.fork("bulk").chance(0.7);
  const plan = {
    store,
    commits: draws(options.clients, () => commitOf(settings, commit)),
    latencyMs,
    timeoutMs,
    maxDelayMs,
    retentionMs: minRetentionMs + settings.pick([0, 1, 10, 100, 1_000, 5_000]),
    lockTtlMs: logUniform(settings, 100, 5_000),
    collectEveryMs: collects ? logUniform(settings, 300, 5_000) : 0,
    inlineBytes: settings.pick([4, 64]),
    mutationCells: settings.pick([1_000, 1_000, 12]),
    pageCells: settings.pick([1_000, 1_000, 3, 1]),
    bulkMutations,
    durability: lmdb.pick(["full", "none"] as const),
    groupEveryMs: lmdb.pick([0, 1, 4]) * latencyMs,
    leaseMs: logUniform(settings, 1_000, 4_000),
    knowsProcesses: settings.chance(0.3),
    watchesReads: settings.chance(0.7),
    workers: draws(options.clients, () => options.hasObservers && settings.chance(0.5)),
    clocks: errors.clocks,
    oracleClocks: errors.oracleClocks,
    rates: drawRates(random.fork("rates"), may),
    faults,
  };
  const incidents = drawIncidents(random.fork("incidents"), may, options, errors.jumpMs, store);
  return { ...plan, incidents };
}

/**
 * Draws the faults of a run. Some runs have no faults, and most have only some kinds. One fault may
 * hide an error that only a run without that fault shows.
 */
function drawFaults(random: SeededRandom, allowed: readonly FaultKind[]): readonly FaultKind[] {
  if (random.chance(0.1)) return [];
  const share = random.pick([0.2, 0.5, 0.8]);
  return faultKinds.filter((kind) => random.chance(share) && allowed.includes(kind));
}

function commitOf(random: SeededRandom, commit: WeightedKind): "auto" | "two-phase" {
  if (commit === "mixed") return random.pick(["auto", "two-phase"]);
  return commit === "two-phase" ? "two-phase" : "auto";
}

function drawRates(
  random: SeededRandom,
  may: (kind: FaultKind) => boolean,
): Readonly<Record<NetworkFault, number>> {
  const rate = (kind: NetworkFault) => (may(kind) ? logUniform(random, 0.002, 0.1) : 0);
  return Object.fromEntries(networkFaults.map((kind) => [kind, rate(kind)])) as Record<NetworkFault, number>;
}

interface ClockErrors {
  readonly clocks: readonly Clocks[];
  readonly oracleClocks: readonly Clocks[];
  readonly jumpMs: number;
  /** Largest difference between two wall clocks, in milliseconds. */
  readonly worstMs: number;
}

const oracleCandidates = 2;
/** Longest run for which `worstMs` includes the drift of clocks, in milliseconds. */
const maxRunMs = 60_000;

function clockErrors(random: SeededRandom, may: (kind: FaultKind) => boolean, clients: number): ClockErrors {
  const offsetMs = may("clockOffset") ? random.pick([1, 20, 300, 2_000, 20_000]) : 0;
  const drift = may("clockDrift") ? random.pick([0.0001, 0.005, 0.02]) : 0;
  const jumpMs = may("clockJump") || may("oracleClockJump") ? random.pick([5, 100, 1_500, 10_000]) : 0;
  const draw = (): Clocks => {
    if (offsetMs === 0 && drift === 0) return trueClocks;
    const rate = 1 + drift * (2 * random.next() - 1);
    return { offsetMs: offsetMs * (random.next() - 0.5), rate };
  };
  return {
    clocks: draws(clients, draw),
    oracleClocks: draws(oracleCandidates, draw),
    jumpMs,
    worstMs: offsetMs + 2 * drift * maxRunMs + 2 * maxOfAKind * jumpMs,
  };
}

const maxOfAKind = 2;

/** Draws the incidents. Each kind of incident that a run allows happens once or twice. */
function drawIncidents(
  random: SeededRandom,
  may: (kind: FaultKind) => boolean,
  options: PlanOptions,
  jumpMs: number,
  store: SimulatedStore,
): readonly Incident[] {
  const incidents: Incident[] = [];
  const add = (kind: ProcessFault | OracleFault, targets: number, events: number) => {
    const count = 1 + random.below(maxOfAKind);
    for (let number = 1; number <= count; number++) {
      incidents.push({
        name: `${kind} ${number}`,
        kind,
        target: random.below(targets),
        atEvent: 1 + random.below(Math.round(events * options.length)),
        ms: lengthOf(kind, random, jumpMs),
      });
    }
  };
  for (const kind of processFaults) if (may(kind)) add(kind, options.clients, 350);
  if (store !== "elected") return incidents;
  for (const kind of oracleFaults) if (may(kind)) add(kind, oracleCandidates, 80);
  return incidents;
}

function lengthOf(kind: ProcessFault | OracleFault, random: SeededRandom, jumpMs: number): number {
  switch (kind) {
    case "clockJump":
    case "oracleClockJump":
      return jumpMs * (2 * random.next() - 1);
    case "pause":
    case "oraclePause":
      return logUniform(random, 20, random.chance(0.2) ? 20_000 : 4_000);
    case "cut":
    case "oracleCut":
      return logUniform(random, 50, 5_000);
    default:
      return logUniform(random, 5, 3_000);
  }
}

function weighted(random: SeededRandom, kinds: readonly WeightedKind[]): WeightedKind {
  return random.pick(kinds.flatMap((kind) => draws(weights[kind], () => kind)));
}

function draws<T>(count: number, draw: () => T): readonly T[] {
  return Array.from({ length: count }, draw);
}

/** Draws a number whose logarithm is uniform, so that small and large ones are equally likely. */
function logUniform(random: SeededRandom, least: number, most: number): number {
  return least * (most / least) ** random.next();
}
