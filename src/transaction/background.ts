/** Work that goes on after its caller was answered; closing waits for it. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();

  /** The work must not reject. */
  track(work: Promise<void>): void {
    this.#running.add(work);
    void work.finally(() => this.#running.delete(work));
  }

  /** Resolves when nothing is running, work begun meanwhile included. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
