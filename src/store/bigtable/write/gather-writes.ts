import { abortError, type Environment, onAbort } from "../../../environment/index.js";
import { byteString } from "../../bytes.js";
import type { MutationAnswer } from "../../mutation.js";
import { status } from "../packages.js";
import type { Mutation } from "../protos/codec.js";
import { fromInt64 } from "../protos/int64.js";
import type { Counts } from "../statistics.js";
import { encodeRow } from "../table/names.js";
import type { KnownTable } from "../table/tables.js";
import { holdBack } from "../wire/repeat.js";
import { mutateRow, mutateRows } from "../wire/rpc.js";
import { codeOf, isRefusal, statusError, storeError } from "../wire/status.js";
import type { Transport } from "../wire/transport.js";

/** Limits of one request. Bigtable takes 100,000 mutations. */
const most = Object.freeze({ rows: 1_000, mutations: 50_000, bytes: 8 << 20 });

export interface PlainMutation {
  readonly table: KnownTable;
  readonly row: Uint8Array;
  readonly mutations: readonly Mutation[];
  readonly signal: AbortSignal | undefined;
}

/**
 * The waiting mutations of one row. They become one entry of a request. Bigtable applies an entry
 * atomically.
 */
type Entry = readonly [Waiting, ...Waiting[]];

interface Waiting extends PlainMutation {
  readonly bytes: number;
  sent: boolean;
  resolve(answer: MutationAnswer): void;
  reject(error: unknown): void;
}

export interface WritesOptions {
  readonly transport: Transport;
  readonly profile: string;
  readonly environment: Environment;
  readonly deadlineMs: number;
  /** Aborted when the store is closed. */
  readonly closing: AbortSignal;
  readonly gather: boolean;
  readonly counts: Counts;
}

/**
 * Sends mutations without guards. The mutations of one turn of the event loop share a request. Each
 * row is still changed atomically and gets its own answer. Several mutations of one row become one
 * mutation, in their order.
 */
export class GatheredWrites {
  readonly #options: WritesOptions;
  #waiting: Waiting[] = [];

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  mutate(mutation: PlainMutation): Promise<MutationAnswer> {
    if (!this.#options.gather) return this.#single(mutation, this.#deadline());
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) this.#options.environment.defer(() => this.#send());
      const waiting = { ...mutation, bytes: bytesOf(mutation), sent: false, resolve, reject };
      this.#waiting.push(waiting);
      const { signal } = mutation;
      if (signal === undefined) return;
      const stopListening = onAbort(signal, () => {
        if (waiting.sent) resolve("unknown");
        else reject(abortError(signal, "A mutation"));
      });
      waiting.resolve = (answer) => {
        stopListening();
        resolve(answer);
      };
      waiting.reject = (error) => {
        stopListening();
        reject(error);
      };
    });
  }

  #send(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    const until = this.#deadline();
    for (const queue of byTable(waiting)) this.#sendQueue(queue, until);
  }

  /** The monotonic time at which a mutation of this turn must be over. */
  #deadline(): number {
    return this.#options.environment.monotonic() + this.#options.deadlineMs;
  }

  #sendQueue(queue: readonly Waiting[], until: number): void {
    let batch = new Map<string, [Waiting, ...Waiting[]]>();
    let mutations = 0;
    let bytes = 0;
    const batches = [batch];
    for (const each of queue) {
      const full =
        batch.size >= most.rows ||
        mutations + each.mutations.length > most.mutations ||
        bytes + each.bytes > most.bytes;
      if (full && batch.size > 0) {
        [batch, mutations, bytes] = [new Map(), 0, 0];
        batches.push(batch);
      }
      const row = byteString(each.row);
      const entry = batch.get(row);
      if (entry === undefined) batch.set(row, [each]);
      else entry.push(each);
      mutations += each.mutations.length;
      bytes += each.bytes;
    }
    this.#sendAll(
      batches.map((each) => [...each.values()]),
      until,
    ).catch((error: unknown) => {
      for (const each of queue) each.reject(error);
    });
  }

  async #sendAll(batches: readonly (readonly Entry[])[], until: number): Promise<void> {
    for (const planned of batches) {
      // Callers may have given up while the earlier batches were in flight.
      const batch = wanted(planned);
      if (this.#isLate(until)) {
        for (const entry of batch) for (const each of entry) this.#leave(each);
        continue;
      }
      for (const entry of batch) for (const each of entry) each.sent = true;
      const [first] = batch;
      if (first === undefined) continue;
      if (batch.length > 1 || first.length > 1) await this.#bulk(batch, until);
      else await this.#alone(first[0], until);
    }
  }

  #isLate(until: number): boolean {
    return this.#options.environment.monotonic() >= until;
  }

  /** Answers a mutation whose outcome is not known, or that would be sent late (protocol §7.4). */
  #leave(waiting: Waiting): void {
    this.#options.counts.unknown++;
    waiting.resolve("unknown");
  }

  async #alone(waiting: Waiting, until: number): Promise<void> {
    await this.#single(waiting, until).then(waiting.resolve, waiting.reject);
  }

  async #single({ table, row, mutations, signal }: PlainMutation, until: number): Promise<MutationAnswer> {
    const { transport, profile, environment, counts } = this.#options;
    const deadlineMs = until - environment.monotonic();
    counts.single++;
    const request = { tableName: table.path, appProfileId: profile, rowKey: encodeRow(row), mutations };
    try {
      await transport.unary(mutateRow, request, { metadata: table.mutating, deadlineMs, signal });
      return "applied";
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      await holdBack(this.#options, error, until, signal);
      if (isRefusal(code)) throw storeError(error, doing(table));
      counts.unknown++;
      return "unknown";
    }
  }

  async #bulk(batch: readonly Entry[], until: number): Promise<void> {
    const { transport, profile, environment, counts } = this.#options;
    const deadlineMs = until - environment.monotonic();
    const { table } = batch[0]![0];
    counts.bulk++;
    counts.bulkRows += batch.length;
    const answered = new Set<number>();
    const settling: Promise<void>[] = [];
    const entries = batch.map((entry) => ({
      rowKey: encodeRow(entry[0].row),
      mutations: entry.flatMap(({ mutations }) => mutations),
    }));
    let failure: unknown;
    try {
      const request = { tableName: table.path, appProfileId: profile, entries };
      await transport.stream(mutateRows, request, { metadata: table.mutating, deadlineMs }, (response) => {
        for (const entry of response.entries ?? []) {
          const index = entry.index === undefined ? 0 : fromInt64(entry.index);
          answered.add(index);
          const { code = status.OK, message = "" } = entry.status ?? {};
          settling.push(this.#answer(batch[index] ?? [], code, message, until));
        }
        return true;
      });
    } catch (error) {
      failure = error;
      await holdBack(this.#options, error, until, undefined);
    }
    const code = codeOf(failure) ?? status.UNKNOWN;
    const said = failure instanceof Error ? failure.message : "";
    for (const [index, entry] of batch.entries()) {
      if (!answered.has(index)) settling.push(this.#answer(entry, code, said, until));
    }
    await Promise.all(settling);
  }

  async #answer(entry: readonly Waiting[], code: number, said: string, until: number): Promise<void> {
    // Bigtable may have refused the entry because of only one of its mutations. Each mutation is
    // therefore sent once more, alone.
    if (isRefusal(code) && entry.length > 1) {
      for (const each of entry) {
        if (this.#isLate(until)) this.#leave(each);
        else if (isWanted(each)) await this.#alone(each, until);
      }
      return;
    }
    for (const each of entry) {
      if (code === status.OK) each.resolve("applied");
      else if (isRefusal(code)) each.reject(statusError(code, said, doing(each.table)));
      else this.#leave(each);
    }
  }
}

function doing(table: KnownTable): string {
  return `mutate a row of table ${JSON.stringify(table.name)}`;
}

function isWanted({ signal }: Waiting): boolean {
  return !signal?.aborted;
}

function wanted(batch: readonly Entry[]): readonly Entry[] {
  return batch.flatMap((entry) => {
    const [first, ...rest] = entry.filter(isWanted);
    return first === undefined ? [] : [[first, ...rest] as const];
  });
}

function byTable(waiting: readonly Waiting[]): Iterable<readonly Waiting[]> {
  const queues = new Map<string, Waiting[]>();
  for (const each of waiting) {
    const queue = queues.get(each.table.path);
    if (queue === undefined) queues.set(each.table.path, [each]);
    else queue.push(each);
  }
  return queues.values();
}

function bytesOf({ mutations }: PlainMutation): number {
  let bytes = 0;
  for (const { setCell } of mutations) bytes += 64 + (setCell?.value?.length ?? 0);
  return bytes;
}
