import { type Environment, sleep, type Timer } from "../../../environment/index.js";
import { StoreBusyError } from "../../../errors/index.js";
import { type LockHolder, type LockName, lockHolder } from "./lock-holder.js";

/** Time between two looks at the holder of a lock that this process waits for, in milliseconds. */
const lookMs = 250;
/**
 * How long this process waits for a lock, in milliseconds: far longer than a write or a flush
 * takes, shorter than an operator's patience.
 */
const patienceMs = 10_000;
/** How long opening and closing a folder wait for a lock, in milliseconds. */
const shortPatienceMs = 1_000;
/**
 * How long opening waits for a stopped process, in milliseconds: enough for a process that is just
 * being continued.
 */
const stoppedPatienceMs = 100;
const openingLookMs = 50;

/**
 * The part of the write queue that the watch uses. The queue has the requests that wait for LMDB's
 * locks.
 */
export interface Waits {
  /** The locks for which requests wait now. */
  waitsFor(): readonly LockName[];
  /** Number of LMDB's newest flushed transaction. */
  flushedThrough(): number;
  /** Begins a transaction, unless one will begin anyway. */
  touch(): void;
  /** Gives up the requests that already waited for the lock at the previous look. */
  giveUp(lock: LockName, error: StoreBusyError): void;
}

/** A lock that another process holds, and for how long this process has observed that. */
export interface HeldLock {
  readonly lock: LockName;
  readonly holder: LockHolder;
  readonly heldMs: number;
}

/**
 * Watches whether another process holds one of LMDB's locks without end, because it was stopped or
 * its event loop is blocked. After 10 s, it gives up the requests that wait for the lock. LMDB's
 * own wait has no end, and cannot be interrupted.
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

  /**
   * Starts watching. Call it when a request begins to wait. A repeated call has no further effect.
   */
  watch(): void {
    this.#timer ??= this.#environment.setTimer(() => this.#look(), lookMs, { background: true });
  }

  /**
   * Resolves when another process has held a lock for {@link shortPatienceMs}, the longest time
   * that closing a folder waits.
   */
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
    // LMDB's flush has no end while its number of the last transaction is wrong. The next write
    // transaction corrects the number, but there may be none before the flush has ended.
    if (locks.includes("flush")) this.#waits.touch();
    if (locks.length > 0) this.watch();
  }

  /**
   * Counts the time in looks, so that a pause of this process does not count against the holder.
   */
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
 * Whether the same thread has held the lock without a break. While it holds the write lock, no
 * other thread commits, so a new transaction means that the lock was free in between. This does not
 * apply to the flush lock: during a long flush, other threads may commit.
 */
function isSameHolding(before: LockHolder, now: LockHolder, lock: LockName): boolean {
  return before.thread === now.thread && (lock === "flush" || before.transaction === now.transaction);
}

/**
 * The lock that another process holds without end, checked before this process opens the folder.
 * Undefined if this process can open the folder normally.
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
 * Resolves when no other process holds either of LMDB's locks, or when `isOver` returns true.
 * Requests wait for this promise, so the timers keep the process alive.
 */
export async function untilUnlocked(
  folder: string,
  environment: Environment,
  isOver: () => boolean,
): Promise<void> {
  const isHeld = () => lockHolder(folder, "write") !== undefined || lockHolder(folder, "flush") !== undefined;
  while (isHeld() && !isOver()) await sleep(environment, openingLookMs);
}

/**
 * The error that names the process that holds a lock, and the least time that it has held the lock.
 */
export function busyError(folder: string, { lock, holder, heldMs }: HeldLock): StoreBusyError {
  const [state, advice] = holder.isStopped
    ? ["is stopped", `Continue it (kill -CONT ${holder.process}) or end it.`]
    : ["makes no progress", "Its event loop may be blocked: wait for it, or end it."];
  return new StoreBusyError(
    `The database in ${folder} cannot be written: process ${holder.process} (${holder.program}) has held LMDB's ${lock} lock for ` +
      `at least ${(heldMs / 1_000).toFixed(1)} s, and ${state}. ${advice} Reads still work.`,
    { process: holder.process, heldMs },
  );
}
