import {
  abortError,
  type Backoff,
  backoffDelay,
  type Environment,
  sleep,
  throwIfAborted,
} from "../../environment/index.js";
import { TimeoutError } from "../../errors/index.js";
import { addressKey, showCell } from "../cell/address.js";
import { lockedGuard, lockValueGuard } from "../cell/guards.js";
import type { MetLock, Resolution, ResolutionOutcome } from "../cell/met-lock.js";
import { encodeLock, type LockRecord, type StatusRecord } from "../cell/records.js";
import type { LockResolution, TransactionContext } from "../context.js";
import { deleteLockAndData, type PrimaryState, readPrimary, rollbackPrimary } from "./primary.js";
import { rollForwardMutations } from "./roll-forward.js";

const waiting: Backoff = { initialMs: 2, maximumMs: 250 };
const maxDecided = 10_000;

/**
 * Deals with locks that others left or hold (protocol §4.1; the paper, section 2.2). Looks at the primary first,
 * always: only what stands there decides.
 */
export class LockResolver implements LockResolution {
  /** What was decided of transactions, by start timestamp and primary: that never changes. The newest, so many. */
  readonly #decided = new Map<string, StatusRecord>();

  /** For a reader: returns when the read may be repeated, or the lock be ignored. Waits at most for the lock to expire. */
  async resolveForRead(context: TransactionContext, met: MetLock, resolution: Resolution): Promise<void> {
    const outcome = await this.resolve(context, met, resolution);
    if (outcome !== "standing") return;
    await this.#wait(context, met, resolution);
  }

  /** For a writer, which then conflicts: clears what can be cleared and says whether the lock still stands. */
  async resolve(
    context: TransactionContext,
    met: MetLock,
    resolution: Resolution,
  ): Promise<ResolutionOutcome> {
    throwIfAborted(resolution.signal, waitingFor(met));
    const known = this.#decided.get(decidedKey(met));
    const found: PrimaryState =
      known === undefined
        ? await readPrimary(context.store, met.lock.primary, met.start)
        : { state: "decided", status: known };
    switch (found.state) {
      case "decided":
        return this.#applyStatus(context, met, resolution, found.status);
      case "locked":
        if (await this.#ownerAlive(context, found.lock)) return this.#push(context, met, resolution, found);
        break;
      case "nothing":
        if (await this.#ownerAlive(context, met.lock)) return "standing";
        break;
    }
    const status = await rollbackPrimary(context, met.lock.primary, met.start);
    return this.#applyStatus(context, met, resolution, status);
  }

  async #applyStatus(
    context: TransactionContext,
    met: MetLock,
    resolution: Resolution,
    status: StatusRecord,
  ): Promise<ResolutionOutcome> {
    this.#remember(met, status);
    if (status.outcome === "committed") {
      if (resolution.role === "reader" && status.commit > resolution.start) {
        resolution.passed.add(met.start);
        return "passed";
      }
      await rollForward(context, met, status.commit);
      context.events.emit("lockResolved", { startTimestamp: met.start, outcome: "rolled-forward" });
    } else {
      await rollBack(context, met);
      context.events.emit("lockResolved", { startTimestamp: met.start, outcome: "rolled-back" });
    }
    return "gone";
  }

  /** Raises min_commit_ts on the primary's lock, so that the transaction cannot commit where the reader reads. */
  async #push(
    context: TransactionContext,
    met: MetLock,
    resolution: Resolution,
    found: { readonly lock: LockRecord; readonly value: Uint8Array },
  ): Promise<ResolutionOutcome> {
    if (resolution.role === "writer") return "standing";
    const needed = resolution.start + 1;
    if (found.lock.minCommit >= needed) {
      resolution.passed.add(met.start);
      return "passed";
    }
    if (resolution.pushesLeft === 0) return "standing";
    resolution.pushesLeft--;
    const { primary } = met.lock;
    const info = { startTimestamp: met.start, cell: showCell(primary) };
    const answer = await context.hooks.step("push", info, () =>
      context.store.mutate({
        table: primary.table,
        row: primary.row,
        guards: [lockValueGuard(primary.column, met.start, found.value)],
        mutations: [
          {
            type: "put",
            column: primary.column,
            part: "lock",
            timestamp: met.start,
            value: encodeLock({ ...found.lock, minCommit: needed }),
          },
        ],
      }),
    );
    if (answer !== "applied") return "gone";
    resolution.passed.add(met.start);
    context.events.emit("lockResolved", { startTimestamp: met.start, outcome: "pushed" });
    return "passed";
  }

  async #ownerAlive(context: TransactionContext, lock: LockRecord): Promise<boolean> {
    const alive = await context.liveness.alive(lock.session);
    if (alive === false) return false;
    return !expired(context.environment, lock);
  }

  async #wait(context: TransactionContext, met: MetLock, resolution: Resolution): Promise<void> {
    resolution.attempt++;
    context.events.emit("lockResolved", { startTimestamp: met.start, outcome: "waited" });
    const { environment } = context;
    try {
      await sleep(environment, backoffDelay(environment, waiting, resolution.attempt), resolution.signal);
    } catch (error) {
      if (resolution.signal?.aborted !== true) throw error;
      const aborted = abortError(resolution.signal, waitingFor(met));
      throw aborted instanceof TimeoutError ? lockTimeout(met, aborted) : aborted;
    }
  }

  #remember(met: MetLock, status: StatusRecord): void {
    if (this.#decided.size >= maxDecided) {
      const oldest = this.#decided.keys().next();
      if (!oldest.done) this.#decided.delete(oldest.value);
    }
    this.#decided.set(decidedKey(met), status);
  }
}

function decidedKey({ start, lock }: MetLock): string {
  return `${start} ${addressKey(lock.primary)}`;
}

function expired(environment: Environment, lock: LockRecord): boolean {
  const age = environment.now() - lock.refreshedAt;
  // A clock that was set back makes locks come from the future: they count as young for one time to live only.
  return age > lock.ttlMs || age < -10 * lock.ttlMs;
}

function waitingFor({ cell }: MetLock): string {
  return `Waiting for the lock on ${showCell(cell)}`;
}

function lockTimeout(met: MetLock, cause: TimeoutError): TimeoutError {
  return new TimeoutError(
    `${cause.message}, waiting for the lock on ${showCell(met.cell)} of the transaction that started at ` +
      `${met.start} in session ${met.lock.session}`,
    { cause },
  );
}

/** The columns that a lock's cell answers for: on a chunk's first cell, the whole chunk. */
function columnsOf(met: MetLock): readonly Uint8Array[] {
  return [met.cell.column, ...met.lock.others];
}

/** Puts the write record of a committed transaction where its lock still stands. */
async function rollForward(context: TransactionContext, met: MetLock, commit: number): Promise<void> {
  const info = { startTimestamp: met.start, commitTimestamp: commit, cell: showCell(met.cell) };
  const { table, row, column } = met.cell;
  await context.hooks.step("roll-forward", info, () =>
    context.store.mutate({
      table,
      row,
      guards: [lockedGuard(column, met.start)],
      mutations: rollForwardMutations(column, met.start, commit, met.lock),
    }),
  );
}

/** Takes a rolled-back transaction's lock and data away where the lock still stands. */
async function rollBack(context: TransactionContext, met: MetLock): Promise<void> {
  const info = { startTimestamp: met.start, cell: showCell(met.cell) };
  const { table, row, column } = met.cell;
  await context.hooks.step("rollback-secondary", info, () =>
    context.store.mutate({
      table,
      row,
      guards: [lockedGuard(column, met.start)],
      mutations: columnsOf(met).flatMap((each) => deleteLockAndData(each, met.start)),
    }),
  );
}
