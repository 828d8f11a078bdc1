import { checkOptionNames, type OptionNames } from "../errors/index.js";
import type {
  BackfillOptions,
  DrainOptions,
  ParkedOptions,
  PendingOptions,
  UnregisterOptions,
  WorkOptions,
} from "../observer/index.js";
import type {
  CheckOptions,
  CollectOptions,
  TransactionOptions,
  TransactOptions,
} from "../transaction/index.js";
import type { OpenOptions } from "./options.js";
import type { SnapshotOptions } from "./snapshots.js";

/** What the calls of a database take, by the call's name. */
interface CallOptions {
  open: OpenOptions;
  "db.transact": TransactOptions;
  "db.begin": TransactionOptions;
  "db.snapshot": SnapshotOptions;
  "db.work": WorkOptions;
  "db.drain": DrainOptions;
  "db.idle": DrainOptions;
  "db.pending": PendingOptions;
  "db.parked": ParkedOptions;
  "db.backfill": BackfillOptions;
  "db.unregister": UnregisterOptions;
  "db.collect": CollectOptions;
  "db.check": CheckOptions;
}

const transaction: OptionNames<TransactionOptions> = {
  isolation: true,
  timeoutMs: true,
  label: true,
  signal: true,
};
const listing: OptionNames<PendingOptions & ParkedOptions> = { observer: true, signal: true };
const waiting: OptionNames<DrainOptions> = { signal: true, onProgress: true };

const names: { readonly [C in keyof CallOptions]: OptionNames<CallOptions[C]> } = {
  open: {
    tables: true,
    observers: true,
    durability: true,
    commit: true,
    retentionMs: true,
    collectEveryMs: true,
    transactionBytes: true,
    lockTtlMs: true,
    logger: true,
    environment: true,
    oracle: true,
    coordinator: true,
    hooks: true,
    create: true,
    readOnly: true,
    noReadAhead: true,
  },
  "db.transact": { ...transaction, retries: true },
  "db.begin": transaction,
  "db.snapshot": { at: true, signal: true },
  "db.work": { observers: true, concurrency: true, signal: true },
  "db.drain": waiting,
  "db.idle": waiting,
  "db.pending": listing,
  "db.parked": listing,
  "db.backfill": { range: true, signal: true, onProgress: true },
  "db.unregister": { signal: true, onProgress: true },
  "db.collect": { signal: true, retentionMs: true, onProgress: true },
  "db.check": { signal: true, onProgress: true, mostProblems: true },
};

/** Throws an InvalidArgumentError if an option is not one that the call takes. Answers the options. */
export function known<C extends keyof CallOptions>(call: C, options: CallOptions[C]): CallOptions[C] {
  checkOptionNames(call, options, names[call]);
  return options;
}
