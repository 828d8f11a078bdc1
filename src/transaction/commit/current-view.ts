import { isRemote } from "../../store/index.js";
import type { ObservedColumns, TransactionContext } from "../context.js";
import type { CommitRequest } from "./request.js";

/**
 * The registry, no older than protocol §3.5 allows, for a two-phase commit. Undefined for a system
 * transaction.
 */
export async function currentView(
  { notifications, store }: TransactionContext,
  { system }: CommitRequest,
): Promise<ObservedColumns | undefined> {
  if (system) return undefined;
  // The batches of one-phase commits check the registry, so it may not be an old copy here either.
  const isExact = store.atomic !== undefined && isRemote(store);
  return await (isExact ? notifications.reload() : notifications.fresh());
}
