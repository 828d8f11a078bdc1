import { type ModelHint, type Places, placesOf, placesOfObserver } from "./hint-table.js";
import type { ModelWorker } from "./worker.js";

/** Of a look at the hints of others. */
const foreignPage = 256;
const mostPages = 64;
const firstPoll = 50;
const longestPoll = 250;
/** So many workers together look as often as one alone would. */
const workersOfOnePoll = 8;
const longestCrowdedPoll = 10_000;
const longestPause = 1_000;
const restForWork = 4;
const foreignAge = 2_000;
const foreignEvery = 250;
/** Hints of others that a worker remembers having seen. */
const mostForeign = 4_096;

/** What was done with some hints. */
interface Taking {
  readonly taken: number;
  readonly isFull: boolean;
  /** Whether another worker has some of them. */
  readonly metOthers: boolean;
}

interface Round {
  readonly ranges: Places[];
  jumps: number;
  pages: number;
}

/** Looks for hints, one observer after the other, as the library's scan loop does. */
export class BucketScanner {
  readonly #worker: ModelWorker;
  readonly #rounds: (Round | undefined)[];
  readonly #foreignAt: number[];
  /** Hints that another has, with until when they are not asked for again. */
  #refused = new Map<ModelHint, number>();
  #poll = firstPoll;
  #isScanning = false;
  #isWoken = false;
  #planned = 0;

  constructor(worker: ModelWorker) {
    this.#worker = worker;
    const { observers } = worker.world.settings.workload;
    this.#rounds = Array.from({ length: observers }, () => undefined);
    this.#foreignAt = Array.from({ length: observers }, () => Number.NEGATIVE_INFINITY);
  }

  get #world() {
    return this.#worker.world;
  }

  isUnfinished(observer: number): boolean {
    return this.#rounds[observer] !== undefined;
  }

  /** Scans now, or once more after the scan under way. */
  wake(): void {
    if (this.#isScanning) {
      this.#isWoken = true;
      return;
    }
    this.#isScanning = true;
    this.#planned++;
    this.#world.counts.scans++;
    const startedAt = this.#world.loop.now;
    this.#scanAll(0, 0, (found) => this.#scanned(found, startedAt));
  }

  #scanned(found: number, startedAt: number): void {
    const { loop, settings } = this.#world;
    const crowd = settings.design.isCrowdAware ? Math.max(1, settings.workers / workersOfOnePoll) : 1;
    const longest = Math.min(longestCrowdedPoll, longestPoll * crowd);
    const poll = found > 0 ? firstPoll : Math.min(longest, this.#poll * 2);
    this.#poll = Math.max(poll, Math.min(longestPause, restForWork * (loop.now - startedAt)));
    this.#isScanning = false;
    if (this.#isWoken) {
      this.#isWoken = false;
      this.wake();
      return;
    }
    const planned = this.#planned;
    loop.after(this.#poll, () => {
      if (planned === this.#planned && !this.#isScanning) this.wake();
    });
  }

  #scanAll(observer: number, found: number, done: (found: number) => void): void {
    if (observer >= this.#rounds.length) {
      done(found);
      return;
    }
    this.#scan(observer, (more) => this.#scanAll(observer + 1, found + more, done));
  }

  #scan(observer: number, done: (found: number) => void): void {
    if (!this.#worker.hasRoom(observer)) {
      done(0);
      return;
    }
    this.#forgetRefused();
    const round = this.#rounds[observer];
    if (round !== undefined) {
      this.#goOn(observer, round, 0, done);
      return;
    }
    const begin = () => {
      const begun = this.#newRound(observer);
      this.#rounds[observer] = begun;
      this.#goOn(observer, begun, 0, done);
    };
    if (!this.#world.settings.design.looksAtFirst) begin();
    else {
      const standing = this.#world.hints.standing(observer);
      this.#readHints(observer, 0, Math.min(1, standing), () => {
        if (standing === 0) done(0);
        else begin();
      });
    }
  }

  #forgetRefused(): void {
    const { now } = this.#world.loop;
    for (const [hint, until] of this.#refused) {
      // They are in the order of their time.
      if (until > now) return;
      this.#refused.delete(hint);
    }
  }

  #newRound(observer: number): Round {
    const { random, settings } = this.#world;
    if (settings.design.finding !== "shares") {
      const place = random.below(placesOfObserver);
      return {
        ranges: [
          { from: place, to: placesOfObserver },
          { from: 0, to: place },
        ],
        jumps: 0,
        pages: 0,
      };
    }
    const own = this.#worker.shares.owned(this.#worker.number, observer);
    const first = random.below(Math.max(1, own.length));
    const ranges = [...own.slice(first), ...own.slice(0, first)].map(placesOf);
    const start = ranges[0];
    if (start === undefined) return { ranges, jumps: 0, pages: 0 };
    const place = start.from + random.below(start.to - start.from);
    return {
      ranges: [{ from: place, to: start.to }, ...ranges.slice(1), { from: start.from, to: place }],
      jumps: 0,
      pages: 0,
    };
  }

  #goOn(observer: number, round: Round, found: number, done: (found: number) => void): void {
    const range = round.ranges[0];
    if (range === undefined || round.pages >= mostPages) {
      this.#rounds[observer] = undefined;
      if (this.#world.settings.design.finding === "shares") this.#lookAtForeign(observer, found, done);
      else done(found);
      return;
    }
    const { hints, next } = this.#world.hints.page(observer, range, this.#world.settings.design.page);
    round.pages++;
    this.#readHints(observer, range.from, hints.length, () => {
      const { finding, jumps: most, afterJumps } = this.#world.settings.design;
      const jumps = finding === "claims" && round.jumps < most;
      const stops = finding === "claims" && afterJumps === "stops";
      this.#offer(observer, hints, jumps || stops, ({ taken, isFull, metOthers }) => {
        if (isFull) {
          round.pages = 0;
          done(found + taken);
          return;
        }
        if (metOthers && jumps) this.#jump(round);
        else if (metOthers && stops) round.ranges.length = 0;
        else if (next !== undefined) range.from = next;
        else round.ranges.shift();
        this.#goOn(observer, round, found + taken, done);
      });
    });
  }

  /** Leaves the stretch that another one works on for a random other one. */
  #jump(round: Round): void {
    round.jumps++;
    this.#world.counts.jumps++;
    const place = this.#world.random.below(placesOfObserver);
    round.ranges.splice(0, round.ranges.length, { from: place, to: placesOfObserver });
    if (place > 0) round.ranges.push({ from: 0, to: place });
  }

  /** Takes hints on as far as there is room; with claims some at a time, and no more where another is met and it is to jump. */
  #offer(
    observer: number,
    hints: readonly ModelHint[],
    jumps: boolean,
    done: (result: Taking) => void,
  ): void {
    const worker = this.#worker;
    const { design } = this.#world.settings;
    const offered = hints.filter((hint) => this.#isWanted(hint));
    if (design.finding !== "shares" && design.finding !== "nothing") {
      this.#claim(observer, offered, jumps, { taken: 0, isFull: false, metOthers: false }, done);
      return;
    }
    const wanted = offered.slice(0, Math.max(0, worker.room(observer)));
    for (const hint of wanted) worker.take(hint);
    done({ taken: wanted.length, isFull: wanted.length < offered.length, metOthers: false });
  }

  #isWanted(hint: ModelHint): boolean {
    const { loop, settings } = this.#world;
    if (this.#worker.has(hint) || hint.index < 0) return false;
    return hint.observer === 0 || hint.createdAt <= loop.now - settings.design.leftFor;
  }

  #claim(
    observer: number,
    hints: readonly ModelHint[],
    jumps: boolean,
    before: Taking,
    done: (result: Taking) => void,
  ): void {
    const worker = this.#worker;
    const { counts, settings, loop } = this.#world;
    const room = worker.room(observer);
    if (hints.length === 0 || room <= 0) {
      done({ ...before, isFull: hints.length > 0 });
      return;
    }
    const some = hints.slice(0, Math.min(room, settings.design.claimsAtOnce));
    const asked = some.filter((hint) => (this.#refused.get(hint) ?? 0) <= loop.now);
    const settle = () => {
      const mine = asked.filter((hint) => hint.claimant === undefined && !worker.has(hint));
      counts.claimsRefused += asked.length - mine.length;
      for (const hint of asked) {
        if (hint.claimant === undefined) continue;
        this.#refused.delete(hint);
        this.#refused.set(hint, loop.now + settings.design.refusedFor);
      }
      for (const hint of mine) {
        hint.claimant = worker;
        worker.take(hint);
      }
      const taken = before.taken + mine.length;
      const metOthers = before.metOthers || mine.length < some.length;
      if (metOthers && jumps) done({ taken, isFull: false, metOthers });
      else this.#claim(observer, hints.slice(some.length), jumps, { taken, isFull: false, metOthers }, done);
    };
    counts.claims += asked.length;
    if (asked.length === 0) settle();
    else worker.coordinator.claim(asked.length, settle);
  }

  /** Hints of other shares that have been seen to stand for a while. What is remembered of them is taken on average. */
  #lookAtForeign(observer: number, found: number, done: (found: number) => void): void {
    const { loop, random, hints, settings } = this.#world;
    if (settings.workers === 1 || loop.now - this.#foreignAt[observer]! < foreignEvery) {
      done(found);
      return;
    }
    this.#foreignAt[observer] = loop.now;
    const place = placesOf(random.below(placesOfObserver / (placesOf(0).to - placesOf(0).from))).from;
    const after = hints.page(observer, { from: place, to: placesOfObserver }, foreignPage);
    const seen = Math.min(1, mostForeign / Math.max(1, hints.standing(observer)));
    this.#readHints(observer, place, after.hints.length, () => {
      const old = after.hints.filter(
        (hint) =>
          hint.index >= 0 &&
          loop.now - hint.createdAt > foreignAge &&
          this.#worker.shares.owner(hint) !== this.#worker.number &&
          random.chance(seen),
      );
      this.#offer(observer, old, false, ({ taken }) => done(found + taken));
    });
  }

  #readHints(observer: number, place: number, count: number, answered: () => void): void {
    const { client, tablet } = this.#world.costs;
    this.#world.request(
      this.#worker.processor,
      client.pointRead + count * client.rowOfSet,
      this.#world.hintServer({ observer, place: Math.min(place, placesOfObserver - 1) }),
      tablet.read + count * tablet.scannedRow,
      "read",
      answered,
    );
  }
}
