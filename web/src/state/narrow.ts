import { useEffect, useState } from "preact/hooks";

/** The width from which tables are lists, as in the styles. */
const query = "(max-width: 720px)";

/** Whether the window is as narrow as that of a phone. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const follow = () => setNarrow(list.matches);
    follow();
    list.addEventListener("change", follow);
    return () => list.removeEventListener("change", follow);
  }, []);
  return isNarrow;
}
