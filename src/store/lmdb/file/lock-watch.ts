import { type Environment, sleep, type Timer } from "../../../environment/index.js";
import { StoreBusyError } from "../../../errors/index.js";
import { type LockHolder, type LockName, lockHolder } from "./lock-holder.js";

/** Between two looks at who holds a lock that is waited for, in milliseconds. */
const lookMs = 250;
/**
 * A lock that was held for so long is waited for no longer: far longer than a write or a flush
 * takes, shorter than an operator's patience.
 */
const patienceMs = 10_000;
/** For so long closing waits for it, and opening. */
const shortPatienceMs = 1_000;
/**
 * Opening waits so long for a process that is stopped: one that is just being continued is left the
 * time.
 */
const stoppedPatienceMs = 100;
const openingLookMs = 50;

/** What waits for LMDB's locks. */
export interface Waits {
  /** The locks that are waited for now. */
  waitsFor(): readonly LockName[];
  /** LMDB's transaction up to which the file is flushed. */
  flushedThrough(): number;
  /** Gives up what has waited for the lock at the last look, too. */
  giveUp(lock: LockName, error: StoreBusyError): void;
}

/** A lock that another process holds, and for how long it was seen to. */
export interface HeldLock {
  readonly lock: LockName;
  readonly holder: LockHolder;
  readonly heldMs: number;
}

/**
 * Watches whether another process holds one of LMDB's locks without end, because it was stopped or
 * its event loop is blocked, and then gives up what waits for it. LMDB's own wait has no end and
 * cannot be interrupted.
 */
export class LockWatch {
  readonly #folder: string;
  readonly #environment: Environment;
  readonly #waits: Waits;
  #timer: Timer | undefined;
  #held: (HeldLock & { readonly flushed: number }) | undefined;
  #whenStuck: (() => void)[] = [];

  constructor(folder: string, environment: Environment, waits: Waits) {
    this.#folder = folder;
    this.#environment = environment;
    this.#waits = waits;
  }

  /** To be called when waiting begins. Harmless to repeat. */
  watch(): void {
    this.#timer ??= this.#environment.setTimer(() => this.#look(), lookMs, { background: true });
  }

  /** Resolves when another process is seen to hold a lock for longer than closing waits. */
  stuck(): Promise<void> {
    this.watch();
    return new Promise((resolve) => this.#whenStuck.push(resolve));
  }

  #look(): void {
    this.#timer = undefined;
    const locks = this.#waits.waitsFor();
    const held = locks.map((lock) => this.#holding(lock)).find((each) => each !== undefined);
    this.#held = held;
    if (held !== undefined && held.heldMs >= patienceMs)
      this.#waits.giveUp(held.lock, busyError(this.#folder, held));
    if (held !== undefined && held.heldMs >= shortPatienceMs)
      for (const resolve of this.#whenStuck.splice(0)) resolve();
    if (locks.length > 0) this.watch();
  }

  /** The time is counted in looks: a pause of this process itself is not the holder's. */
  #holding(lock: LockName) {
    const holder = lockHolder(this.#folder, lock);
    if (holder === undefined) return undefined;
    const flushed = lock === "flush" ? this.#waits.flushedThrough() : 0;
    const before = this.#held;
    const isSame =
      before?.lock === lock && before.flushed === flushed && isSameHolding(before.holder, holder, lock);
    return { lock, holder, flushed, heldMs: isSame ? before.heldMs + lookMs : 0 };
  }
}

/**
 * A thread that flushes holds up no transactions, and one that holds up transactions lets none be
 * committed.
 */
function isSameHolding(before: LockHolder, now: LockHolder, lock: LockName): boolean {
  return before.thread === now.thread && (lock === "flush" || before.transaction === now.transaction);
}

/**
 * The lock that another process was seen to hold without end, before this one opens the folder;
 * undefined if it may be opened as ever.
 */
export async function stuckLock(folder: string, environment: Environment): Promise<HeldLock | undefined> {
  const locks = ["write", "flush"] as const;
  for (const lock of locks) {
    const first = lockHolder(folder, lock);
    for (let heldMs = 0; ; heldMs += openingLookMs) {
      const holder = lockHolder(folder, lock);
      if (first === undefined || holder === undefined || !isSameHolding(first, holder, lock)) break;
      const enough = holder.isStopped ? stoppedPatienceMs : shortPatienceMs;
      if (heldMs >= enough) return { lock, holder, heldMs };
      await sleep(environment, openingLookMs);
    }
  }
  return undefined;
}

/**
 * Resolves when no other process holds one of the locks. Ends when `isOver` says so. Something is
 * to be written meanwhile, which keeps the process.
 */
export async function untilUnlocked(
  folder: string,
  environment: Environment,
  isOver: () => boolean,
): Promise<void> {
  const isHeld = () => lockHolder(folder, "write") !== undefined || lockHolder(folder, "flush") !== undefined;
  while (isHeld() && !isOver()) await sleep(environment, openingLookMs);
}

/** The error that says who holds a lock, and for how long at least. */
export function busyError(folder: string, { lock, holder, heldMs }: HeldLock): StoreBusyError {
  const [state, advice] = holder.isStopped
    ? ["is stopped", `Continue it (kill -CONT ${holder.process}) or end it.`]
    : ["does not go on", "Its event loop may be blocked: wait for it, or end it."];
  return new StoreBusyError(
    `The database in ${folder} cannot be written: process ${holder.process} (${holder.program}) holds LMDB's ${lock} lock, for ` +
      `${(heldMs / 1_000).toFixed(1)} s at least, and ${state}. ${advice} Reads go on meanwhile.`,
    { process: holder.process, heldMs },
  );
}
