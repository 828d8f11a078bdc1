import { inBrowser, type Theme } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import "./style.css";

/** What screen readers need and the theme leaves out. */
function completeRoles(): void {
  const content = document.querySelector("#VPContent");
  if (content?.querySelector("main") == null) content?.setAttribute("role", "main");
  else content.removeAttribute("role");
  // The button is called "Search". The style shows its key, which is not a part of its name.
  for (const key of document.querySelectorAll<HTMLElement>(".DocSearch-Button-Key:not(:empty)")) {
    key.dataset.key = key.textContent;
    key.textContent = "";
  }
}

export default {
  extends: theme,
  enhanceApp({ router }) {
    // When the page is drawn.
    if (!inBrowser) return;
    router.onAfterRouteChange = () => {
      setTimeout(completeRoles);
    };
  },
} satisfies Theme;
