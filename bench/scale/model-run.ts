import { exponential } from "./distributions.js";
import type { ModelHint } from "./hint-table.js";
import type { ModelWorker } from "./worker.js";

/** Rows of one bulk request on average, where nobody waits for it. */
const rowsOfBulk = 10;
const backoff = { initial: 1, most: 200 };

/** One hint's run: as often as it conflicts, the steps of PROTOCOL sections 3 and 5. */
export class ModelRun {
  readonly #worker: ModelWorker;
  readonly #hint: ModelHint;
  readonly #over: () => void;
  readonly #begunAt: number;
  #conflicts = 0;
  #start = 0;
  /** The rows that it writes, the same in each attempt; and those of them that it has locked. */
  readonly #rows: readonly number[];
  #written: readonly number[] = [];

  constructor(worker: ModelWorker, hint: ModelHint, over: () => void) {
    this.#worker = worker;
    this.#hint = hint;
    this.#over = over;
    this.#begunAt = worker.world.loop.now;
    const { drawRow, settings } = worker.world;
    this.#rows = isContended(settings.workload)
      ? [...new Set(Array.from({ length: settings.workload.writes }, drawRow))]
      : [];
    this.#attempt();
  }

  get #world() {
    return this.#worker.world;
  }

  #attempt(): void {
    const { processor, coordinator, registry } = this.#worker;
    processor.serve(this.#world.loop.now, this.#world.costs.client.engine);
    coordinator.next((start) => {
      this.#start = start;
      registry.fresh(() => this.#readState());
    });
  }

  #readState(): void {
    const { client, tablet } = this.#world.costs;
    this.#world.counts.rowsRead++;
    this.#world.requests(this.#worker.processor, client.pointRead, 1, tablet.read, "read", () =>
      this.#worker.safepoint.fresh(() => this.#look()),
    );
  }

  #look(): void {
    if (this.#hint.isDone) {
      this.#world.counts.clean++;
      this.#removeHint();
      this.#over();
    } else if (this.#hint.isLocked) this.#conflict();
    else this.#read();
  }

  /** What the observer reads. A locked row costs a look at its primary and a push. */
  #read(): void {
    const { client, tablet } = this.#world.costs;
    const { reads } = this.#world.settings.workload;
    const { gathersReads } = this.#world.settings.design;
    if (reads === 0) {
      this.#compute();
      return;
    }
    this.#world.counts.rowsRead += reads;
    const cost = gathersReads ? client.rowSet + reads * client.rowOfSet : reads * client.pointRead;
    this.#world.requests(this.#worker.processor, cost, reads, tablet.read, "read", () =>
      this.#worker.safepoint.fresh(() => this.#compute()),
    );
  }

  #compute(): void {
    const { loop, random, settings } = this.#world;
    const work = exponential(random, settings.workload.compute);
    loop.at(this.#worker.processor.serve(loop.now, work), () => this.#prewrite());
  }

  /** The safepoint is looked at for each row before, and once after. */
  #prewrite(): void {
    const { writes } = this.#world.settings.workload;
    let missing = writes + 1;
    const ready = () => {
      if (--missing === 0) this.#sendPrewrites();
    };
    for (let row = 0; row <= writes; row++) this.#worker.safepoint.fresh(ready);
  }

  #sendPrewrites(): void {
    const { settings, rows } = this.#world;
    const locked = this.#rows.filter((row) => rows.lock(row, this.#start));
    const isRefused = this.#hint.isLocked || this.#hint.isDone || locked.length < this.#rows.length;
    if (!isRefused) this.#hint.isLocked = true;
    this.#written = locked;
    this.#conditional(settings.workload.writes + 1, () => {
      if (isRefused) this.#rollback();
      else this.#worker.safepoint.fresh(() => this.#takeTimestamp());
    });
  }

  /** A refused one reads what stands in its way, then takes its locks back. */
  #rollback(): void {
    this.#world.counts.locksMet++;
    const { client, tablet } = this.#world.costs;
    this.#world.counts.rowsRead++;
    this.#world.requests(this.#worker.processor, client.pointRead, 1, tablet.read, "read", () =>
      this.#conditional(1 + this.#written.length, () => {
        for (const row of this.#written) this.#world.rows.rollback(row);
        this.#conflict();
      }),
    );
  }

  #conflict(): void {
    this.#world.counts.conflicts++;
    const longest = Math.min(backoff.most, backoff.initial * 2 ** this.#conflicts++);
    this.#world.loop.after(longest * (0.5 + 0.5 * this.#world.random.next()), () => this.#attempt());
  }

  #takeTimestamp(): void {
    this.#worker.coordinator.next(() => this.#worker.registry.fresh(() => this.#putHint()));
  }

  #putHint(): void {
    const { settings, costs, hints } = this.#world;
    if (this.#hint.observer + 1 >= settings.workload.observers) {
      this.#commit(undefined);
      return;
    }
    // It stands before the commit point; who finds it so early would find nothing to do.
    const next = hints.put(this.#hint.observer + 1, this.#world.loop.now);
    next.claimant = this.#worker;
    const cost = costs.client.bulk + costs.client.rowOfBulk;
    this.#world.counts.bulkRows++;
    const server = this.#world.hintServer(next);
    this.#world.request(this.#worker.processor, cost, server, costs.tablet.write, "write", () =>
      this.#commit(next),
    );
  }

  #commit(next: ModelHint | undefined): void {
    this.#conditional(1, () => this.#committed(next));
  }

  #committed(next: ModelHint | undefined): void {
    const { loop, counts } = this.#world;
    this.#hint.isDone = true;
    this.#hint.isLocked = false;
    counts.committed++;
    counts.delay.add(loop.now - this.#hint.createdAt);
    counts.duration.add(loop.now - this.#begunAt);
    this.#world.note(loop.now);
    const written = this.#written;
    const at = loop.now;
    this.#conditional(this.#world.settings.workload.writes, () => {
      for (const row of written) this.#world.rows.commit(row, at);
    });
    if (next !== undefined) {
      next.claimant = undefined;
      this.#worker.offerOwn(next);
    }
    this.#removeHint();
    this.#over();
  }

  #conditional(count: number, answered: () => void): void {
    const { client, tablet } = this.#world.costs;
    this.#world.counts.conditionalMutations += count;
    const cost = count * client.conditionalMutation;
    const service = tablet.conditionalMutation;
    this.#world.requests(this.#worker.processor, cost, count, service, "write", answered);
  }

  /** In the background; the claim stands until the hint is gone. */
  #removeHint(): void {
    const { client, tablet } = this.#world.costs;
    const hint = this.#hint;
    const cost = client.rowOfBulk + client.bulk / rowsOfBulk;
    const server = this.#world.hintServer(hint);
    this.#world.counts.bulkRows++;
    this.#world.request(this.#worker.processor, cost, server, tablet.write, "write", () => {
      this.#world.hints.remove(hint);
      this.#worker.release(hint);
    });
  }
}

/** Whether two runs ever write one row: among a thousand million rows that does not count. */
function isContended({ rows, exponent }: { readonly rows: number; readonly exponent: number }): boolean {
  return exponent > 0 || rows < 1e8;
}
