/**
 * A request that cannot be planned before its group holds LMDB's write lock, because it reads
 * records that an earlier draft changes.
 */
export class NotPlannableError extends Error {}
