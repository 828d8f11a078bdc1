/** Most keys whose size is remembered. The oldest is forgotten, and begins with full deliveries again. */
const maxKeys = 10_000;

interface Reduced {
  readonly size: number;
  readonly isAlone: boolean;
}

/**
 * How many entries of a key its next delivery takes: as many as allowed, or after a failure one, and
 * then twice as many after each success. So a receiver that often fails, or is too slow for many
 * entries, still gets them, and an entry that it refuses is soon the first of its key.
 */
export class DeliverySizes {
  readonly #most: number;
  readonly #reduced = new Map<string, Reduced>();

  constructor(most: number) {
    this.#most = most;
  }

  of(key: string): number {
    return this.#reduced.get(key)?.size ?? this.#most;
  }

  /** Whether the key's next delivery shares its call with no other key, because its last one took too long. */
  isAlone(key: string): boolean {
    return this.#reduced.get(key)?.isAlone ?? false;
  }

  failed(key: string, tookTooLong: boolean): void {
    this.#reduced.delete(key);
    this.#reduced.set(key, { size: 1, isAlone: tookTooLong });
    if (this.#reduced.size <= maxKeys) return;
    const [oldest] = this.#reduced.keys();
    this.#reduced.delete(oldest!);
  }

  succeeded(key: string): void {
    const size = this.of(key) * 2;
    if (size < this.#most) this.#reduced.set(key, { size, isAlone: false });
    else this.#reduced.delete(key);
  }
}
