/** The views, in the order of their tabs. */
export const views = ["overview", "pipeline", "data", "transactions", "failures", "workers"] as const;
export type View = (typeof views)[number];

/** A view with all of its state. */
export interface Route {
  readonly view: View;
  readonly state: Readonly<Record<string, string>>;
}

/** Parses a hash. An unknown view is the overview. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = views.find((each) => each === path) ?? "overview";
  return { view, state: Object.fromEntries(new URLSearchParams(query)) };
}

export type State = Readonly<Record<string, string | number | undefined>>;

/** The hash of a view. Undefined and empty parts are left out, as in {@link searchOf}. */
export function hashOf(view: View, state: State = {}): string {
  return `#/${view}${searchOf(state)}`;
}

/** The parts that are keys of rows. A row may have the empty key. */
const keys: readonly string[] = ["row", "after"];

/** The query of an address, with its `?`. Leaves out what is undefined or empty, except an empty key. */
export function searchOf(state: State): string {
  const given = Object.entries(state).filter(
    ([name, value]) => value !== undefined && (value !== "" || keys.includes(name)),
  );
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === "" ? "" : `?${search}`;
}
