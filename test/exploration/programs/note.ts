import type { ClientHandle } from "../../../src/testing/exploration/index.js";
import { namedPlace } from "../../../src/testing/world/index.js";

/** Takes note, in a step of its own, of something that the clients of a program share under this name beside the store. */
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
