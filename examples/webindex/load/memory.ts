import { readFileSync } from "node:fs";

/**
 * Measures the most anonymous memory (heap, buffers and stacks, but no mapped files) that this
 * process has used, in bytes. The kernel records no maximum of anonymous memory, so this class
 * samples it ten times a second. `undefined` if the system does not report it.
 */
export class MemoryWatch {
  #highest: number | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#highest = anonymousBytes();
    this.#timer = setInterval(() => this.#look(), 100);
    this.#timer.unref();
  }

  get highest(): number | undefined {
    this.#look();
    return this.#highest;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = anonymousBytes();
    if (now !== undefined && now > (this.#highest ?? 0)) this.#highest = now;
  }
}

function anonymousBytes(): number | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const found = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "latin1"));
    return found === null ? undefined : Number(found[1]) * 1024;
  } catch {
    return undefined;
  }
}
