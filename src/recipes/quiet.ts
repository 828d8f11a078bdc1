import { PercolatorError } from "../index.js";

/**
 * Returns the promise of a call that a program may have forgotten to await. Its transaction has then been
 * refused, and has said so. That this promise rejects too, which nobody waits for, must not end the process.
 */
export function quiet<T>(call: Promise<T>): Promise<T> {
  const promise = new Promise<T>((resolve, reject) => {
    call.then(resolve, (error: unknown) => {
      if (error instanceof PercolatorError && error.code === "UNAWAITED_CALL") promise.catch(() => undefined);
      reject(error);
    });
  });
  return promise;
}
