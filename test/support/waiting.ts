/** Longest time that anything in a test may take on a busy machine, in milliseconds. */
export const patienceMs = 60_000;

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Polls until `isTrue` returns true. Returns false if that takes longer than `withinMs`. */
export async function until(isTrue: () => boolean, withinMs = patienceMs): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!isTrue()) {
    if (performance.now() > end) return false;
    await pause(2);
  }
  return true;
}
