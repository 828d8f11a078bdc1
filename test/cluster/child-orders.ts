/** What a process of `child.ts` is to do. */
export interface ChildOrders {
  readonly location: string;
  /** `HOST:PORT` of the emulator, or of what stands before it. */
  readonly emulatorHost: string;
  /** `HOST:PORT` of the coordinator; without it, found by the lease. */
  readonly coordinator?: string | undefined;
  /** File that gets the names of the operations that were told committed. */
  readonly journal: string;
  readonly writer: string;
  /** Operations under way at a time; 0 for one that writes nothing. */
  readonly writing: number;
  /** Runs at a time; 0 for one that runs no observer. */
  readonly working: number;
  readonly lockTtlMs: number;
  /** How long the store may take to answer a request. */
  readonly deadlineMs: number;
}
