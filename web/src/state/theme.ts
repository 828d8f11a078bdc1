import { Store } from "./store.js";

/** The theme: that of the system, or a chosen one. */
export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const key = "percolator-theme";

export const theme = new Store<Theme>("auto");

/** Applies the theme that was chosen before. */
export function restoreTheme(): void {
  try {
    const kept = localStorage.getItem(key);
    apply(themes.find((each) => each === kept) ?? "auto");
  } catch {
    apply("auto");
  }
}

export function nextTheme(): void {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
  apply(next);
  try {
    localStorage.setItem(key, next);
  } catch {
    // A browser without storage still shows the theme now.
  }
}

function apply(chosen: Theme): void {
  theme.set(chosen);
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
