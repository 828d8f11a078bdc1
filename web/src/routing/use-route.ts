import { useEffect, useState } from "preact/hooks";
import { hashOf, parseRoute, type Route, type State } from "./route.js";

/** Follows the route in the address bar. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Navigates to a view. */
export function go(view: Route["view"], state: State = {}): void {
  location.hash = hashOf(view, state);
}

/**
 * Changes a part of the view's state. Use `replace` for a part that changes with every key press,
 * so that Back skips those steps.
 */
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
