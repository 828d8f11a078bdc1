import { createHash } from "node:crypto";

export const style = `
:root { color-scheme: light dark; --page: #f4f5f6; --surface: #ffffff; --ink: #16202a; --muted: #525f6b; --line: #dbe0e4; --accent: #0b5f70; --warn-soft: #fcf0dc; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0f1418; --surface: #161c21; --ink: #e3e8ec; --muted: #9aa6b0; --line: #29323a; --accent: #6cc7d8; --warn-soft: #352813; }
}
* { box-sizing: border-box; }
html { background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; -webkit-text-size-adjust: 100%; }
body { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1.1rem 3rem; }
body.start { padding-top: 18vh; }
a { color: var(--accent); text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; letter-spacing: -0.01em; }
h2 { font-size: 1.1rem; font-weight: 600; margin: 0; line-height: 1.35; }
form { display: flex; gap: 0.5rem; }
input { flex: 1; min-width: 0; font: inherit; color: inherit; background: var(--surface); border: 1px solid var(--line); border-radius: 0.5rem; padding: 0.55rem 0.8rem; }
button { font: inherit; color: var(--page); background: var(--accent); border: 0; border-radius: 0.5rem; padding: 0.55rem 1.1rem; cursor: pointer; }
input:focus-visible, button:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.note { color: var(--muted); font-size: 0.875rem; margin: 0.9rem 0 0; }
ol { list-style: none; margin: 1.6rem 0 0; padding: 0; }
li { margin: 0 0 1.5rem; }
.url, .more { color: var(--muted); font-size: 0.8125rem; overflow-wrap: anywhere; margin: 0; }
.snippet { margin: 0.2rem 0; overflow-wrap: anywhere; }
mark { background: var(--warn-soft); color: inherit; border-radius: 0.15rem; padding: 0 0.1em; }
.text { margin: 1.4rem 0 0; overflow-wrap: anywhere; }
`;

/** The hash of the style for the content security policy, which allows no other style. */
export const styleHash = `sha256-${createHash("sha256").update(style).digest("base64")}`;
