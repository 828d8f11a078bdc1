import {
  type Design,
  designs,
  mended,
  type ScaleSettings,
  throughCoordinator,
  webIndex,
} from "./settings.js";

/** One run of the model, with the word that tells it from the others of its study. */
export interface StudyRun {
  readonly name: string;
  readonly settings: ScaleSettings;
}

export interface Study {
  readonly name: string;
  readonly about: string;
  runs(options: StudyOptions): readonly StudyRun[];
}

export interface StudyOptions {
  readonly seed: string;
  readonly workers: readonly number[];
  readonly designs: readonly string[];
}

/** Two workers of the usual workload keep a server three quarters busy. */
const workersOfServer = 2;
/** More than can be done: what is measured is what can be; and half of it, for the delay. */
const tooMuch = 1.5;
const half = 0.5;

function settingsOf(seed: string, workers: number, design: Design, load: number): ScaleSettings {
  return {
    seed,
    workers,
    servers: Math.max(2, Math.ceil(workers / workersOfServer)),
    concurrency: 64,
    design,
    workload: webIndex,
    load,
    ...durationsFor(workers, design),
  };
}

/** Where much happens in a second, less time is simulated. Sessions that expire need some. */
function durationsFor(
  workers: number,
  { refreshForEach, claimServices }: Design,
): Pick<ScaleSettings, "warmUp" | "counted"> {
  if (refreshForEach !== undefined) return { warmUp: workers <= 300 ? 4 : 12, counted: 2 };
  if (workers <= 300) return { warmUp: 2, counted: 2 };
  if (workers <= 1_000) return { warmUp: 1, counted: 1 };
  // Where all claims are one service's, it takes a while until the first ones are granted.
  return claimServices === 1
    ? { warmUp: 0.3 + 0.0003 * workers, counted: 0.5 }
    : { warmUp: 0.3, counted: 0.2 };
}

const scale: Study = {
  name: "scale",
  about: "a tablet server for every two workers; more is loaded than can be done",
  runs: ({ seed, workers, designs: wanted }) =>
    designs
      .filter((design) => wanted.includes(design.name))
      .flatMap((design) => workers.map((count) => runOf(seed, count, design, tooMuch))),
};

const delay: Study = {
  name: "delay",
  about: "the same, with half of what the processors could do",
  runs: ({ seed, workers, designs: wanted }) =>
    designs
      .filter((design) => wanted.includes(design.name))
      .flatMap((design) => workers.map((count) => runOf(seed, count, design, half))),
};

function runOf(seed: string, workers: number, design: Design, load: number): StudyRun {
  return { name: design.name, settings: settingsOf(seed, workers, design, load) };
}

const servers: Study = {
  name: "servers",
  about: "a fixed number of tablet servers",
  runs: ({ seed, workers }) =>
    [10, 30, 100].flatMap((count) =>
      workers
        .filter((each) => each <= 1_000 && each <= 16 * count)
        .map((each) => ({
          name: `${count} servers`,
          settings: { ...settingsOf(seed, each, mended, tooMuch), servers: count },
        })),
    ),
};

/** What each change of the design gives, one after the other. */
export const mendings: readonly (readonly [string, Partial<Design>])[] = [
  ["coordinator, registry read by each run", { registry: "each run" }],
  ["coordinator", { registry: "one for all" }],
  ["+ hints over 256 tablets", { hintTablets: 256 }],
  ["+ registry and safepoint told", { registry: "told", safepoint: "told" }],
  ["+ no session records", { refreshForEach: undefined }],
  ["+ short pages, one jump", { page: 16, jumps: 1, afterJumps: "stops" }],
  ["+ own hints left alone", { leftFor: 250 }],
  ["+ gathering for 2 ms", { gather: 2 }],
  ["+ a relay for 16 workers", { perRelay: 16 }],
];

const mending: Study = {
  name: "mending",
  about: "100 workers, each change on top of those before",
  runs: ({ seed }) =>
    [half, tooMuch].flatMap((load) => {
      let design = throughCoordinator;
      return mendings.map(([name, change]) => {
        design = { ...design, ...change };
        return { name: `${name}, load ${load}`, settings: settingsOf(seed, 100, design, load) };
      });
    }),
};

const finding: Study = {
  name: "finding",
  about: "how scanners keep out of each other's way, 30 workers, all else mended",
  runs: ({ seed }) =>
    [half, tooMuch].flatMap((load) =>
      (["nothing", "claims, no jumps", "claims", "shares"] as const).map((how) => ({
        name: `${how}, load ${load}`,
        settings: settingsOf(seed, 30, { ...mended, name: how, finding: how }, load),
      })),
    ),
};

const hotRows: Study = {
  name: "hot rows",
  about: "100 workers whose runs write two rows of 1,000,000, ever more unevenly; half load",
  runs: ({ seed }) =>
    [0, 0.5, 0.7, 0.8, 0.9, 1].map((exponent) => ({
      name: `exponent ${exponent}`,
      settings: {
        ...settingsOf(seed, 100, mended, half),
        workload: { ...webIndex, rows: 1e6, exponent },
      },
    })),
};

export const studies: readonly Study[] = [scale, delay, servers, mending, finding, hotRows];
