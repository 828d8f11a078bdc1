/** Time of the model, in milliseconds, and what is going to happen in it. */
export class EventLoop {
  readonly #at: number[] = [];
  readonly #order: number[] = [];
  readonly #happen: (() => void)[] = [];
  #now = 0;
  #planned = 0;
  #happened = 0;

  /** Milliseconds since the beginning. */
  get now(): number {
    return this.#now;
  }

  /** How much has happened. */
  get happened(): number {
    return this.#happened;
  }

  /** Plans something; of what happens at one moment, the first that was planned comes first. */
  at(time: number, happen: () => void): void {
    if (!(time >= this.#now)) throw new RangeError(`${time} is before ${this.#now}, or no time.`);
    const order = this.#planned++;
    let index = this.#at.length;
    while (index > 0) {
      const parent = (index - 1) >> 2;
      const above = this.#at[parent]!;
      if (above < time || (above === time && this.#order[parent]! < order)) break;
      this.#move(parent, index);
      index = parent;
    }
    this.#put(index, time, order, happen);
  }

  after(delay: number, happen: () => void): void {
    this.at(this.#now + delay, happen);
  }

  /** Lets everything happen that is planned up to a moment. */
  runUntil(end: number): void {
    while (this.#at.length > 0 && this.#at[0]! <= end) {
      this.#now = this.#at[0]!;
      this.#happened++;
      this.#take()();
    }
    this.#now = Math.max(this.#now, end);
  }

  #take(): () => void {
    const first = this.#happen[0]!;
    const time = this.#at.pop()!;
    const order = this.#order.pop()!;
    const happen = this.#happen.pop()!;
    const size = this.#at.length;
    if (size === 0) return first;
    let index = 0;
    for (;;) {
      let least = -1;
      let leastAt = time;
      let leastOrder = order;
      const end = Math.min(4 * index + 5, size);
      for (let child = 4 * index + 1; child < end; child++) {
        const at = this.#at[child]!;
        if (at > leastAt || (at === leastAt && this.#order[child]! > leastOrder)) continue;
        least = child;
        leastAt = at;
        leastOrder = this.#order[child]!;
      }
      if (least < 0) break;
      this.#move(least, index);
      index = least;
    }
    this.#put(index, time, order, happen);
    return first;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#at[from]!, this.#order[from]!, this.#happen[from]!);
  }

  #put(index: number, time: number, order: number, happen: () => void): void {
    this.#at[index] = time;
    this.#order[index] = order;
    this.#happen[index] = happen;
  }
}
