/**
 * Calls `start` when the page becomes visible, and what `start` returned when the page is hidden.
 * Browsers allow six connections to a host over all tabs, so a hidden tab holds none. Returns a
 * function that ends it.
 */
export function whileVisible(start: () => () => void): () => void {
  let stop: (() => void) | undefined;
  const follow = () => {
    if (!document.hidden) stop ??= start();
    else {
      stop?.();
      stop = undefined;
    }
  };
  document.addEventListener("visibilitychange", follow);
  follow();
  return () => {
    document.removeEventListener("visibilitychange", follow);
    stop?.();
  };
}
