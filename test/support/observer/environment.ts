import { TestClock, TestProcess } from "../../../src/testing/kit/index.js";
import { SeededRandom } from "../../../src/testing/world/index.js";

let processes = 0;

/**
 * A process of a test. It has its own clock if no clock is given. Time passes separately on
 * separate clocks.
 */
export class TestEnvironment extends TestProcess {
  constructor(clock = new TestClock()) {
    // Processes on separate clocks may share a store, so their names and ids must differ too.
    super(clock, `test-${++processes}`, new SeededRandom("1"), {});
  }

  advance(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  settle(): Promise<void> {
    return this.clock.settle();
  }

  until<T>(promise: Promise<T>): Promise<T> {
    return this.clock.until(promise);
  }

  /** Suspends the process for a while. Its overdue timers fire when time next passes. */
  async freeze(ms: number): Promise<void> {
    this.suspend();
    await this.clock.advance(ms);
    this.resume();
  }
}
