import { status } from "@grpc/grpc-js";
import type { Environment } from "../../environment/index.js";
import { abortError } from "../../errors/index.js";
import type { MutationAnswer } from "../mutation.js";
import { encodeRow } from "./names.js";
import type { Mutation } from "./protos/codec.js";
import { fromInt64 } from "./protos/int64.js";
import { mutateRow, mutateRows } from "./rpc.js";
import type { Counts } from "./statistics.js";
import { codeOf, isRefusal, statusError, storeError } from "./status.js";
import type { KnownTable } from "./tables.js";
import type { Transport } from "./transport.js";

/** What one request may hold: Bigtable takes 100,000 mutations. */
const most = Object.freeze({ rows: 1_000, mutations: 50_000, bytes: 8 << 20 });

export interface PlainMutation {
  readonly table: KnownTable;
  readonly row: Uint8Array;
  readonly mutations: readonly Mutation[];
  readonly signal: AbortSignal | undefined;
}

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
  readonly gather: boolean;
  readonly counts: Counts;
}

/**
 * Mutations without guards. Those of one turn of the event loop go together, each row still by itself: atomic, and with an
 * answer of its own. Two of the same row go one after the other.
 */
export class GatheredWrites {
  readonly #options: WritesOptions;
  #waiting: Waiting[] = [];

  constructor(options: WritesOptions) {
    this.#options = options;
  }

  mutate(mutation: PlainMutation): Promise<MutationAnswer> {
    if (!this.#options.gather) return this.#single(mutation);
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) this.#options.environment.defer(() => this.#send());
      const waiting = { ...mutation, bytes: bytesOf(mutation), sent: false, resolve, reject };
      this.#waiting.push(waiting);
      const { signal } = mutation;
      if (signal === undefined) return;
      const abort = () => {
        if (waiting.sent) resolve("unknown");
        else reject(abortError(signal, "A mutation"));
      };
      signal.addEventListener("abort", abort, { once: true });
      waiting.resolve = (answer) => {
        signal.removeEventListener("abort", abort);
        resolve(answer);
      };
    });
  }

  #send(): void {
    const waiting = this.#waiting.filter(({ signal }) => !signal?.aborted);
    this.#waiting = [];
    for (const queue of byTable(waiting)) this.#sendQueue(queue);
  }

  #sendQueue(queue: readonly Waiting[]): void {
    let batch: Waiting[] = [];
    let rows = new Set<string>();
    let mutations = 0;
    let bytes = 0;
    const batches: Waiting[][] = [];
    for (const each of queue) {
      const row = Buffer.from(each.row).toString("latin1");
      const full =
        batch.length >= most.rows ||
        mutations + each.mutations.length > most.mutations ||
        bytes + each.bytes > most.bytes ||
        rows.has(row);
      if (full && batch.length > 0) {
        batches.push(batch);
        [batch, rows, mutations, bytes] = [[], new Set(), 0, 0];
      }
      batch.push(each);
      rows.add(row);
      mutations += each.mutations.length;
      bytes += each.bytes;
    }
    if (batch.length > 0) batches.push(batch);
    this.#sendAll(batches).catch((error: unknown) => {
      for (const each of queue) each.reject(error);
    });
  }

  async #sendAll(batches: readonly (readonly Waiting[])[]): Promise<void> {
    for (const batch of batches) {
      for (const each of batch) each.sent = true;
      if (batch.length > 1) await this.#bulk(batch);
      else await this.#single(batch[0]!).then(batch[0]!.resolve, batch[0]!.reject);
    }
  }

  async #single({ table, row, mutations, signal }: PlainMutation): Promise<MutationAnswer> {
    const { transport, profile, deadlineMs, counts } = this.#options;
    counts.single++;
    const request = { tableName: table.path, appProfileId: profile, rowKey: encodeRow(row), mutations };
    try {
      await transport.unary(mutateRow, request, { metadata: table.metadata, deadlineMs, signal });
      return "applied";
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      if (isRefusal(code)) throw storeError(error, doing(table));
      counts.unknown++;
      return "unknown";
    }
  }

  async #bulk(batch: readonly Waiting[]): Promise<void> {
    const { transport, profile, deadlineMs, counts } = this.#options;
    const { table } = batch[0]!;
    counts.bulk++;
    counts.bulkRows += batch.length;
    const answered = new Set<number>();
    const entries = batch.map(({ row, mutations }) => ({ rowKey: encodeRow(row), mutations }));
    let failure: unknown;
    try {
      const request = { tableName: table.path, appProfileId: profile, entries };
      await transport.stream(mutateRows, request, { metadata: table.metadata, deadlineMs }, (response) => {
        for (const entry of response.entries ?? []) {
          const index = entry.index === undefined ? 0 : fromInt64(entry.index);
          answered.add(index);
          this.#answer(batch[index], entry.status?.code ?? status.OK, entry.status?.message ?? "");
        }
        return true;
      });
    } catch (error) {
      failure = error;
    }
    const code = codeOf(failure) ?? status.UNKNOWN;
    const said = failure instanceof Error ? failure.message : "";
    for (const [index, each] of batch.entries()) if (!answered.has(index)) this.#answer(each, code, said);
  }

  #answer(waiting: Waiting | undefined, code: number, said: string): void {
    if (code === status.OK) waiting?.resolve("applied");
    else if (isRefusal(code)) waiting?.reject(statusError(code, said, doing(waiting.table)));
    else {
      this.#options.counts.unknown++;
      waiting?.resolve("unknown");
    }
  }
}

function doing(table: KnownTable): string {
  return `mutate a row of table ${JSON.stringify(table.name)}`;
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
