import type { ClientHandle } from "../../../src/testing/exploration/index.js";
import { namedPlace } from "../../../src/testing/world/index.js";

/**
 * Reads or changes, as a separate step of the exploration, a value that the clients of a program
 * share outside of the store. `name` names the value.
 */
export function note<T>({ network }: ClientHandle, name: string, what: string, apply: () => T): Promise<T> {
  return network.send<T>({
    kind: "other",
    places: [namedPlace(name)],
    changes: true,
    mayBeLate: false,
    mayRepeat: false,
    describe: () => what,
    apply,
    lost: apply,
    show: String,
    digest: String,
  });
}
