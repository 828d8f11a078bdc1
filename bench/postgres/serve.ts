import { endWithParent } from "../../test/support/end-with-parent.js";

export interface Question {
  readonly id: number;
  readonly method: string;
  readonly argument: unknown;
}

export type Answer = { readonly id: number } & ({ readonly result: unknown } | { readonly error: string });

/** A method of a process: what it is asked with, and what it answers. */
type Method = (argument: never) => unknown;

/** Answers what the parent process asks for, until it lets go of this one, or ends. */
export function serve(methods: Readonly<Record<string, Method>>): void {
  const answer = async ({ id, method, argument }: Question): Promise<Answer> => {
    try {
      return { id, result: await methods[method]!(argument as never) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  endWithParent();
  process.on("message", (question) => {
    void answer(question as Question).then((answered) => process.send?.(answered));
  });
}
