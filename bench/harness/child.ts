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
  /** Called with every message that the process sends without a question. */
  readonly onTold?: (told: unknown) => void;
}

/** A process that answers questions. Its script calls {@link serve} with its methods. */
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

  /**
   * Resolves to the method's answer. Throws the method's error, or an error if the process has
   * ended.
   */
  async ask<T = void>(method: string, argument?: unknown): Promise<T> {
    const id = ++this.#asked;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    if (this.#child.connected) this.#child.send({ id, method, argument } satisfies Question);
    else this.#waiting.get(id)!({ id, error: `${this.#what} has ended` });
    const answer = await answered;
    if ("error" in answer) throw new Error(`${this.#what}, ${method}: ${answer.error}`);
    return answer.result as T;
  }

  /** Kills the process at once, as a failure of its machine would. */
  async kill(): Promise<void> {
    this.#wasKilled ||= this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /**
   * Lets the process close its resources, and waits until it ends. Throws if it had already ended.
   */
  async stop(): Promise<void> {
    if (this.#wasKilled) return;
    await this.ask("close");
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}

/**
 * Runs `use` with a function that starts processes. Afterwards stops them, the newest first. If
 * `use` fails, kills them.
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

/** Starts a process and asks it one question. */
export function askOnce<T>(script: URL, what: string, method: string, argument?: unknown): Promise<T> {
  return withChildren((start) => start(script, what).ask<T>(method, argument));
}

/**
 * The child's side. Answers the parent's questions by these methods until the parent disconnects or
 * ends. The method `close` ends the process. Returns a function that sends the parent a message
 * without a question.
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
