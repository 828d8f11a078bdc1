/**
 * Calls `run` with the error if `returned`, the result of a function of the program, is a promise
 * that rejects. Without a caller that waits for it, its rejection would end the process.
 */
export function onRejection(returned: unknown, run: (error: unknown) => void): void {
  if (returned !== undefined) Promise.resolve(returned).catch(run);
}
