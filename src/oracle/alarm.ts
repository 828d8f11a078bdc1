import type { Environment } from "../environment/index.js";

/**
 * A wait that can be ended early. At most one caller waits at a time. A ring without a waiting
 * caller ends the next wait at once.
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
