import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { About } from "../../../src/dashboard/api.js";

export const AboutContext = createContext<About | undefined>(undefined);

/** What never changes while the server runs. Only within what is shown once it is known. */
export function useAbout(): About {
  const about = useContext(AboutContext);
  if (about === undefined) throw new Error("Views are shown once the server has said what it serves.");
  return about;
}
