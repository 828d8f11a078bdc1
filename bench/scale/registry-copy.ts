import type { CoordinatorClient } from "./gatherer.js";
import type { Renewal } from "./settings.js";
import type { Station } from "./station.js";
import type { World } from "./world.js";

const cacheMs = 1_000;
/** Tables, observers with their versions, and the generation. */
const registryRows = 16;

/** A copy of something in the system table, read anew when it is a second old. */
class Copy {
  #readAt: number;
  #waiting: (() => void)[] | undefined;

  /** Copies are of different ages at first. */
  constructor(
    readonly world: World,
    readonly renewal: Renewal,
    readonly load: (loaded: () => void) => void,
  ) {
    this.#readAt = -cacheMs * world.random.next();
  }

  fresh(use: () => void): void {
    const { loop } = this.world;
    if (this.renewal === "told" || loop.now - this.#readAt < cacheMs) {
      use();
      return;
    }
    const readAt = loop.now;
    const loaded = () => {
      this.#readAt = Math.max(this.#readAt, readAt);
    };
    if (this.renewal === "each run") {
      this.load(() => {
        loaded();
        use();
      });
      return;
    }
    if (this.#waiting !== undefined) {
      this.#waiting.push(use);
      return;
    }
    this.#waiting = [use];
    this.load(() => {
      loaded();
      const waiting = this.#waiting!;
      this.#waiting = undefined;
      for (const each of waiting) each();
    });
  }
}

/** What a worker keeps of the registry, which says who observes what. */
export function registryCopy(world: World, processor: Station, coordinator: CoordinatorClient): Copy {
  const { client, tablet } = world.costs;
  return new Copy(world, world.settings.design.registry, (loaded) => {
    world.counts.registryLoads++;
    coordinator.next(() => {
      world.request(
        processor,
        client.pointRead + registryRows * client.rowOfSet,
        world.systemServer,
        tablet.read + registryRows * tablet.scannedRow,
        "read",
        loaded,
      );
    });
  });
}

/** What a worker keeps of the safepoint. */
export function safepointCopy(world: World, processor: Station): Copy {
  const { client, tablet } = world.costs;
  return new Copy(world, world.settings.design.safepoint, (loaded) => {
    world.counts.safepointReads++;
    world.request(processor, client.pointRead, world.systemServer, tablet.read, "read", loaded);
  });
}

export type { Copy };
