/** A server with a queue: who comes first is served first, one at a time. */
export class Station {
  #freeAt = 0;
  #busy = 0;
  #served = 0;
  #countedFrom = 0;

  constructor(readonly name: string) {}

  /** When who arrives at `arrival` is done, after `service` milliseconds of its own and the wait for those before. Arrivals come in order. */
  serve(arrival: number, service: number): number {
    const start = Math.max(arrival, this.#freeAt);
    this.#freeAt = start + service;
    this.#served++;
    this.#busy += service - Math.max(0, Math.min(service, this.#countedFrom - start));
    return this.#freeAt;
  }

  /** For how long one who came at `arrival` would wait. */
  waitAt(arrival: number): number {
    return Math.max(0, this.#freeAt - arrival);
  }

  get served(): number {
    return this.#served;
  }

  /** Counts from this moment on: what was begun before counts only with what is left of it. */
  countFrom(moment: number): void {
    this.#countedFrom = moment;
    this.#busy = Math.max(0, this.#freeAt - moment);
    this.#served = 0;
  }

  /** The part of the time from the last `countFrom` to `moment` in which it was busy, from 0 to 1. */
  utilisation(moment: number): number {
    const done = this.#busy - Math.max(0, this.#freeAt - moment);
    return moment === this.#countedFrom ? 0 : Math.min(1, done / (moment - this.#countedFrom));
  }
}
