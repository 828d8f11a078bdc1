import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endWithParent } from "../../test/support/end-with-parent.js";

interface Question {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

type Answer = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

interface ChildOptions {
  /** Flags for Node, such as for profiles. */
  readonly node?: readonly string[];
  /** Called with everything that the process tells without being asked. */
  readonly onTold?: (told: unknown) => void;
}

/** A process that answers questions: the script calls {@link serve} with its methods. */
export class Child {
  readonly #child: ChildProcess;
  readonly #what: string;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #asked = 0;
  #wasKilled = false;

  /** `what` names the process in errors. */
  constructor(script: URL, what: string, { node = [], onTold }: ChildOptions = {}) {
    this.#what = what;
    this.#child = fork(fileURLToPath(script), {
      execArgv: [...node, "--import", "tsx"],
      serialization: "advanced",
    });
    this.#ended = once(this.#child, "exit");
    this.#child.on("message", (message) => {
      const answer = message as Answer | { readonly told: unknown };
      if ("told" in answer) return onTold?.(answer.told);
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
    this.#child.once("exit", () => {
      for (const [id, tell] of this.#waiting) tell({ id, error: `${what} has ended` });
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Resolves to what the method answers. Throws what it threw, or that the process has ended. */
  async ask<T = void>(method: string, argument?: unknown): Promise<T> {
    const id = ++this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    if (this.#child.connected) this.#child.send({ id, method, argument } satisfies Question);
    else this.#waiting.get(id)!({ id, error: `${this.#what} has ended` });
    const answer = await answered;
    if ("error" in answer) throw new Error(`${this.#what}, ${method}: ${answer.error}`);
    return answer.result as T;
  }

  /** Ends the process at once, as a failure of its machine would. */
  async kill(): Promise<void> {
    this.#wasKilled ||= this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /**
   * Lets the process close what it has open, and waits for its end. Throws if it has ended by
   * itself.
   */
  async stop(): Promise<void> {
    if (this.#wasKilled) return;
    await this.ask("close");
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}

/**
 * Runs `use` with a function that starts processes; afterwards stops them, the newest first, or
 * kills them if it fails.
 */
export async function withChildren<T>(
  use: (start: (script: URL, what: string, options?: ChildOptions) => Child) => Promise<T>,
): Promise<T> {
  const all: Child[] = [];
  try {
    const answer = await use((script, what, options) => {
      const child = new Child(script, what, options);
      all.push(child);
      return child;
    });
    for (const child of [...all].reverse()) await child.stop();
    return answer;
  } finally {
    await Promise.all(all.map((child) => child.kill()));
  }
}

/** Asks a new process one thing. */
export function askOnce<T>(script: URL, what: string, method: string, argument?: unknown): Promise<T> {
  return withChildren((start) => start(script, what).ask<T>(method, argument));
}

/**
 * The child's side: answers the parent's questions by these methods, of which `close` ends it,
 * until the parent disconnects or ends. Returns a function that tells the parent something without
 * being asked.
 */
export function serve(
  methods: Readonly<Record<string, (argument: never) => unknown>>,
): (told: unknown) => void {
  const answer = async ({ id, method, argument }: Question): Promise<Answer> => {
    try {
      return { id, result: await methods[method]?.(argument as never) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  endWithParent();
  process.on("message", (question) => {
    void answer(question as Question).then((answered) => process.send?.(answered));
  });
  return (told) => process.send?.({ told });
}
