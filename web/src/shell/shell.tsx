import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { About } from "../../../src/dashboard/api/index.js";
import { connection, overview } from "../api/stream.js";
import { bounded } from "../format/numbers.js";
import { clock } from "../format/times.js";
import { Mark } from "../parts/mark.js";
import { hashOf, type Route, type View, views } from "../routing/route.js";
import { useStore } from "../state/store.js";
import { nextTheme, theme } from "../state/theme.js";
import { Announcer } from "./announcer.js";
import { ShortcutsDialog, useShortcuts } from "./shortcuts.js";

interface Props {
  readonly route: Route;
  readonly about: About | undefined;
  readonly children: ComponentChildren;
}

/** The frame around every view. */
export function Shell({ route, about, children }: Props) {
  const [showsKeys, setShowsKeys] = useState(false);
  useShortcuts(() => setShowsKeys(true));
  return (
    <>
      {/* biome-ignore lint/a11y/useValidAnchor: it is a link within the page; the hash holds the route, so the handler moves the focus. */}
      <a class="skip" href="#main" onClick={skip}>
        Skip to the view
      </a>
      <header class="top">
        <a class="brand" href={hashOf("overview")} aria-label="Percolator, overview">
          <Logo />
          <span>percolator</span>
        </a>
        <Views current={route.view} />
        <div class="top-end">
          {about === undefined ? null : <Where about={about} />}
          <ConnectionSign />
          <ThemeButton />
          <button
            type="button"
            class="quiet"
            aria-label="Keyboard shortcuts"
            onClick={() => setShowsKeys(true)}
          >
            ?
          </button>
        </div>
      </header>
      <Lost />
      {children}
      <Announcer />
      {showsKeys ? <ShortcutsDialog onClose={() => setShowsKeys(false)} /> : null}
    </>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Logo() {
  return (
    <svg viewBox="0 0 20 20" class="logo" aria-hidden="true">
      <path d="M5 5v3c0 2.2 2.2 3 5 3s5 .8 5 3v1M15 5v4" />
      <circle cx="5" cy="4" r="2.4" />
      <circle cx="15" cy="4" r="2.4" />
      <circle cx="15" cy="16" r="2.4" />
    </svg>
  );
}

const viewNames: Readonly<Record<View, string>> = {
  overview: "Overview",
  pipeline: "Pipeline",
  data: "Data",
  transactions: "Transactions",
  failures: "Failures",
  workers: "Workers",
};

function Views({ current }: { readonly current: View }) {
  const parked = useStore(overview)?.parked;
  return (
    <nav class="views" aria-label="Views">
      {views.map((view) => (
        <a key={view} href={hashOf(view)} aria-current={view === current ? "page" : undefined}>
          {viewNames[view]}
          {view === "failures" && parked !== undefined && parked.count > 0 ? (
            <span class="badge warn">
              {bounded(parked)}
              <span class="unseen"> parked</span>
            </span>
          ) : null}
        </a>
      ))}
    </nav>
  );
}

function Where({ about: { location: where, store, commit, writable, version } }: { readonly about: About }) {
  return (
    <span class="where" title={`${store}, ${commit}, version ${version}`}>
      <bdi class="where-location">{where}</bdi>
      <span class="tag">{commit}</span>
      <span class={writable ? "tag accent" : "tag"}>{writable ? "writable" : "read-only"}</span>
    </span>
  );
}

const signs = {
  connecting: ["idle", "connecting"],
  live: ["ok", "live"],
  failing: ["bad", "failing"],
  polling: ["warn", "polling"],
  lost: ["bad", "not connected"],
} as const;

function ConnectionSign() {
  const { state } = useStore(connection);
  const [level, word] = signs[state];
  return (
    <span class={`connection ${level}`} data-connection={state}>
      <Mark level={level} />
      {word}
    </span>
  );
}

/** A line under the head while the server does not answer. */
function Lost() {
  const { state, error } = useStore(connection);
  const lastAt = useStore(overview)?.now;
  useEffect(() => {
    // The style makes everything grey that may no longer be so.
    document.documentElement.toggleAttribute("data-stale", state === "lost" || state === "failing");
  }, [state]);
  if (state === "connecting" || state === "live") return null;
  const why = error?.message ?? "";
  const old = lastAt === undefined ? "" : `Everything below is as it was at ${clock(lastAt)}.`;
  const text = {
    polling:
      "The live stream is broken. The page asks the server every two seconds instead, and tries the stream again.",
    failing: `The server answers with an error: ${why} ${old}`,
    lost: `Not connected, trying again. ${why} ${old}`,
  }[state];
  return (
    <p class={`banner ${state === "polling" ? "warn" : "bad"}`} role="status">
      {text}
    </p>
  );
}

const themeSigns = { auto: "◐", light: "○", dark: "●" } as const;

function ThemeButton() {
  const chosen = useStore(theme);
  return (
    <button
      type="button"
      class="quiet"
      data-theme-button
      onClick={nextTheme}
      aria-label={`Colours: ${chosen}. Change`}
    >
      {themeSigns[chosen]}
    </button>
  );
}
