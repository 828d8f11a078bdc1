/** Whether the browser may mean something else by a key, as by Alt and an arrow, which go back. */
export function isModified({ altKey, ctrlKey, metaKey }: KeyboardEvent): boolean {
  return altKey || ctrlKey || metaKey;
}

/**
 * Handles keys that move between the rows of a table or the items of a list: elements with
 * `data-row`.
 */
export function moveByKeys(event: KeyboardEvent): void {
  const from = (event.target as Element | null)?.closest<HTMLElement>("[data-row]");
  if (from == null || isModified(event)) return;
  const all = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>("[data-row]")];
  const index = all.indexOf(from);
  const target = {
    ArrowDown: all[index + 1],
    ArrowUp: all[index - 1],
    Home: all[0],
    End: all.at(-1),
    PageDown: all[Math.min(all.length - 1, index + 10)],
    PageUp: all[Math.max(0, index - 10)],
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  target.focus();
}

/** Whether the user is typing into a field. */
export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement)
    return !["checkbox", "radio", "range", "button"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}
