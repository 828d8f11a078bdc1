import { type CellAddress, showCell } from "../cell/address.js";
import { lockValueGuard } from "../cell/guards.js";
import { encodeLock } from "../cell/records.js";
import type { TransactionContext } from "../context.js";
import { readPrimary } from "../lock/primary.js";
import type { CommitRequest } from "./request.js";

/**
 * Refreshes the primary's lock during a commit, until the commit calls `stop`. Other transactions
 * then see that the owner is alive (protocol §4.4). The refreshed lock keeps the min_commit_ts that
 * readers have pushed.
 */
export function keepLockYoung(
  context: TransactionContext,
  primary: CellAddress,
  request: CommitRequest,
): { stop(): void } {
  const { environment, settings, events } = context;
  let stopped = false;
  const schedule = () =>
    environment.setTimer(() => void goOn(), settings.lockTtlMs / 3, { background: true });
  let timer = schedule();
  const goOn = async () => {
    try {
      await refresh(context, primary, request);
    } catch (error) {
      events.emit("backgroundFailure", { doing: "refreshing a lock", error });
    }
    if (!stopped) timer = schedule();
  };
  return {
    stop() {
      stopped = true;
      timer.cancel();
    },
  };
}

async function refresh(
  context: TransactionContext,
  primary: CellAddress,
  { start, label }: CommitRequest,
): Promise<void> {
  const { store, environment, hooks } = context;
  const found = await readPrimary(store, primary, start);
  if (found.state !== "locked") return;
  const { table, row, column } = primary;
  const value = encodeLock({ ...found.lock, refreshedAt: environment.now() });
  await hooks.step("refresh", { startTimestamp: start, cell: showCell(primary), label }, () =>
    store.mutate({
      table,
      row,
      guards: [lockValueGuard(column, start, found.value)],
      mutations: [{ type: "put", column, part: "lock", timestamp: start, value }],
    }),
  );
}
