/** Throws unless the condition holds. */
export function demand(isSo: boolean, message: () => string): void {
  if (!isSo) throw new Error(message());
}

export function demandEqual(what: string, value: unknown, expected: unknown): void {
  demand(
    Object.is(value, expected),
    () => `${what} is ${JSON.stringify(value)}, and must be ${JSON.stringify(expected)}`,
  );
}
