import { useEffect } from "preact/hooks";
import { Dialog } from "../parts/dialog.js";
import { isModified, isTyping } from "../parts/keys.js";
import { views } from "../routing/route.js";
import { go } from "../routing/use-route.js";
import { nextTheme } from "../state/theme.js";

/** Keys and their effects. */
const shortcuts: readonly (readonly [string, string])[] = [
  ["1 … 6", "the views, in order"],
  ["/", "the search field of the view"],
  ["↑ ↓ Home End", "move between rows of a table or nodes of the graph"],
  ["← →", "follow the edges of the graph, move through the heat map"],
  ["Enter", "open what has the focus"],
  ["Esc", "leave a field, close a panel"],
  ["p", "pause or continue the list of transactions"],
  ["c", "copy the command of the view"],
  ["t", "theme: light, dark, or that of the system"],
  ["?", "this list"],
];

/** Handles the keys that work in every view. */
export function useShortcuts(showList: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isModified(event) || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]") !== null) return;
      if (event.key === "Escape") return leave(event);
      if (isTyping(event.target)) return;
      const run = actionOf(event.key, showList);
      if (run === undefined) return;
      event.preventDefault();
      run();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [showList]);
}

function actionOf(key: string, showList: () => void): (() => void) | undefined {
  const view = /^[1-6]$/.test(key) ? views[Number(key) - 1] : undefined;
  if (view !== undefined) return () => go(view);
  switch (key) {
    case "?":
      return showList;
    case "/":
      return () => first<HTMLInputElement>("[data-search]")?.focus();
    case "c":
      return () => first(".command .copy")?.click();
    case "p":
      return () => first("[data-pause]")?.click();
    case "t":
      return nextTheme;
  }
  return undefined;
}

/** Leaves the field in which the user types. If there is none, closes the open panel. */
function leave(event: KeyboardEvent): void {
  if (isTyping(event.target)) (event.target as HTMLElement).blur();
  else first("[data-close]")?.click();
}

const first = <T extends HTMLElement>(selector: string) => document.querySelector<T>(selector);

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <dl class="keys">
        {shortcuts.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
