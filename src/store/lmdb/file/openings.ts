import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Environment, sleep } from "../../../environment/index.js";
import { besideLockFile } from "./lock-file.js";
import { isLocked } from "./lock-holder.js";

/** Time between two looks, in milliseconds. */
const lookMs = 1;
/**
 * How many looks a process that opens the folder may take. A process that is stopped, or that takes
 * longer, is not waited for any more.
 */
const patience = 5_000;
/** How many looks an opening waits until the running write transaction ends. */
const lockPatience = 1_000;
/**
 * How long an opening waits for the running write transaction if this system does not show whether
 * one runs, in milliseconds. Few transactions take longer.
 */
const unknownLockMs = 20;

/**
 * Keeps the openings of a folder apart from the commits of other processes.
 *
 * When LMDB opens a folder, it reads the number of the last transaction from the data file, and a
 * little later stores this number in the lock file. If another process commits in between, the
 * number goes back, and LMDB's next transaction overwrites the commit. So a process announces that
 * it opens the folder, by a file beside the lock file. Write transactions of other
 * processes that begin later write nothing, and are repeated after the opening. The opening begins
 * when no earlier transaction runs.
 *
 * If the file cannot be made, or if a process makes no announcement, a commit can still meet an
 * opening. The next write transaction notices that and repairs the number: see `Root.mayWrite`.
 */
export class Openings {
  readonly #path: string;
  readonly #folder: string;
  readonly #environment: Environment;
  /** This process's announcement. */
  #own: string | undefined;
  /** An announcement whose process has ended, or does not go on. */
  #ignored: string | undefined;
  /** Whether a process that does not go on with its opening may still be there. */
  #hasGivenUp = false;

  constructor(folder: string, environment: Environment) {
    this.#folder = folder;
    this.#path = join(folder, `${besideLockFile}opening`);
    this.#environment = environment;
  }

  /** Whether another process opens the folder now. */
  isRunning(): boolean {
    return this.#announced() !== undefined;
  }

  /** Whether no other process can be opening the folder, because this process has announced that it does. */
  isAlone(): boolean {
    return !this.#hasGivenUp && !!this.#own && read(this.#path) === this.#own;
  }

  /** Resolves when no other process opens the folder. */
  async ended(): Promise<void> {
    const wait = this.#waiting();
    while (wait()) await sleep(this.#environment, lookMs);
  }

  /** Like {@link ended}, but blocks this thread. */
  waitUntilEnded(): void {
    const wait = this.#waiting();
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (wait()) Atomics.wait(pause, 0, 0, lookMs);
  }

  /**
   * Announces that this process opens the folder. Resolves when no other process opens it, and no
   * other thread of this process.
   */
  async announce(): Promise<void> {
    const own = `${process.pid}.${Math.floor(this.#environment.random() * 2 ** 48).toString(36)}`;
    do await this.ended();
    while (!this.#make(own));
  }

  /** Resolves when no write transaction runs that may have begun before the announcement. */
  async writesEnded(): Promise<void> {
    for (let look = 0; look < lockPatience; look++) {
      const locked = isLocked(this.#folder, "write");
      if (locked === false) return;
      await sleep(this.#environment, locked === undefined ? unknownLockMs : lookMs);
      if (locked === undefined) return;
    }
  }

  /** The folder is open, or could not be opened. */
  withdraw(): void {
    const own = this.#own;
    this.#own = undefined;
    if (own !== undefined && read(this.#path) === own) rmSync(this.#path, { force: true });
  }

  #announced(): string | undefined {
    const found = read(this.#path);
    return found === this.#own || found === this.#ignored ? undefined : found;
  }

  /** Makes the file. Returns false if another process was faster. */
  #make(own: string): boolean {
    const found = read(this.#path);
    if (found !== undefined && found !== this.#ignored) return false;
    try {
      if (found === undefined) {
        writeFileSync(this.#path, own, { flag: "wx" });
      } else {
        const made = `${this.#path}-${own}`;
        writeFileSync(made, own);
        renameSync(made, this.#path);
      }
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      // The folder is read-only, or the disk is full. The file may be there, but empty.
    }
    this.#own = read(this.#path) === "" ? "" : own;
    return true;
  }

  /** Returns a function that returns whether to wait for another process. */
  #waiting(): () => boolean {
    let seen: string | undefined;
    let looks = 0;
    return () => {
      const found = this.#announced();
      if (found !== seen) looks = 0;
      seen = found;
      if (found === undefined) return false;
      // The file is empty until its process has written its name.
      const mayGoOn = found === "" || isAlive(Number.parseInt(found, 10));
      if (++looks < patience && mayGoOn) return true;
      this.#hasGivenUp ||= mayGoOn;
      this.#ignored = found;
      return false;
    };
  }
}

function read(path: string): string | undefined {
  // Reading a missing file would make an error with a stack.
  if (!existsSync(path)) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It was withdrawn in between.
    return undefined;
  }
}

function isAlive(id: number): boolean {
  try {
    process.kill(id, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
