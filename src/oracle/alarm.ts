import type { Environment } from "../environment/index.js";

/**
 * A wait that may be ended early. One waits at a time; a ring that nobody hears ends the next wait
 * at once.
 */
export class Alarm {
  readonly #environment: Environment;
  #rung = false;
  #end: (() => void) | undefined;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  ring(): void {
    this.#rung = true;
    this.#end?.();
  }

  wait(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        this.#end = undefined;
        this.#rung = false;
        timer.cancel();
        resolve();
      };
      const timer = this.#environment.setTimer(end, delayMs);
      this.#end = end;
      if (this.#rung) end();
    });
  }
}
