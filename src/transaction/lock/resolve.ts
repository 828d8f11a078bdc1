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
/** Maximum number of remembered outcomes. It bounds the resolver's memory. */
const maxDecided = 10_000;

/**
 * Resolves locks that readers and writers meet (protocol §4.1; the paper, section 2.2). It always
 * reads the lock's primary first, because only the primary decides.
 *
 * What the primary shows decides:
 * - committed: roll the lock forward -> `gone`; a reader below the commit ignores it -> `passed`
 * - rolled back: delete the lock -> `gone`
 * - locked, owner alive: a reader pushes the commit -> `passed`; a writer leaves it -> `standing`
 * - locked, owner dead: roll the primary back, then apply its status
 * - nothing: as `locked`, but without a push
 */
export class LockResolver implements LockResolution {
  /**
   * Known outcomes of transactions, by start timestamp and primary. An outcome never changes. Holds
   * the newest 10,000.
   */
  readonly #decided = new Map<string, StatusRecord>();

  /**
   * Resolves a lock for a reader. Returns when the reader may read again or ignore the lock. If the
   * lock's owner is alive and cannot be pushed, this method first waits one backoff delay.
   */
  async resolveForRead(
    context: TransactionContext,
    met: MetLock,
    resolution: Resolution,
  ): Promise<ResolutionOutcome> {
    const outcome = await this.resolve(context, met, resolution);
    if (outcome === "standing") await this.#wait(context, met, resolution);
    return outcome;
  }

  /** Resolves a lock without waiting. If the result is `standing`, a writer conflicts. */
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
    const status = await rollbackPrimary(context, met.lock.primary, met.start, resolution.signal);
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

  /** Raises min_commit_ts on the primary's lock above the reader's timestamp (protocol §4.4). */
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
  // If a clock was set back, the refresh of a lock may lie in the future. A lock whose refresh lies
  // more than 10 times its time to live ahead counts as expired.
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

/** The columns that this lock covers: on a chunk's first cell, all columns of the chunk. */
function columnsOf(met: MetLock): readonly Uint8Array[] {
  return [met.cell.column, ...met.lock.others];
}

/**
 * Writes the committed transaction's write record in place of its lock, if that lock still exists.
 */
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

/** Deletes a rolled-back transaction's lock and data, if the lock still exists. */
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
