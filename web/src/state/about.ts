import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { About } from "../../../src/dashboard/api/index.js";

export const AboutContext = createContext<About | undefined>(undefined);

/** Facts that never change while the server runs. Only components below its provider may use it. */
export function useAbout(): About {
  const about = useContext(AboutContext);
  if (about === undefined)
    throw new Error("A component used the facts about the server before they were known.");
  return about;
}
