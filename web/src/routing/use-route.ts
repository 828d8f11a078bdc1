import { useEffect, useState } from "preact/hooks";
import { hashOf, parseRoute, type Route, type State } from "./route.js";

/** The route in the address bar, followed. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Goes to a view. */
export function go(view: Route["view"], state: State = {}): void {
  location.hash = hashOf(view, state);
}

/** Changes a part of the view's state. `replace` for what changes by every key, so that back goes back further. */
export function change(route: Route, state: State, replace = false): void {
  const hash = hashOf(route.view, { ...route.state, ...state });
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
