import { useEffect } from "preact/hooks";
import { live } from "../../../src/live/client/live.js";
import { apiPath } from "./client.js";
import { whileVisible } from "./visible.js";

/**
 * Calls `changed` whenever a row has changed, until the view closes. Without a row, follows nothing.
 * If the server cannot follow rows, the view stays as it is.
 */
export function useRowChanges(table: string, row: string | undefined, changed: () => void): void {
  useEffect(() => {
    if (row === undefined) return;
    // The first value says what is there now. The view has asked for that itself, at about this time.
    return whileVisible(() => {
      const subscription = live<number>(apiPath("row/live", { table, row }), { onValue: changed });
      return () => subscription.close();
    });
  }, [table, row, changed]);
}
