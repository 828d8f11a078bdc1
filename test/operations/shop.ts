import { expect } from "vitest";
import type { Outcome } from "../support/command-line.js";
import type { ProgramProcess } from "../support/program-process.js";
import { type Place, shown } from "./place.js";
import type { Project } from "./project.js";
import type { Verified } from "./week/second/verify.js";

/** The number of rows that each load writes in turn. */
const rowsOfLoad = 40;
const processes = 2;
/** Longer than any answer of a probe. */
const answerMs = 3_000;

/** A `percolator worker` with several processes. */
export interface RunningWorker {
  readonly process: ProgramProcess;
  /** Where each of its processes serves metrics and probes. */
  readonly addresses: readonly string[];
}

/** The shop in one place: its workers, its loads, and the commands that its user runs. */
export class Shop {
  readonly place: Place;
  readonly #project: Project;
  readonly #loads: ProgramProcess[] = [];

  constructor(project: Project, place: Place) {
    this.#project = project;
    this.place = place;
  }

  /** Runs a command of a page to its end, and expects its exit code, or any. */
  run(
    page: string,
    beginning: string,
    code: number | "any" = 0,
    words: Readonly<Record<string, string>> = {},
  ): Promise<Outcome> {
    return this.#project.run(shown(page, beginning, { ...this.place.words, ...words }), code);
  }

  /** Repeats a command of a page that looks at the database, until it prints what is expected. */
  async shows(page: string, beginning: string, text: RegExp): Promise<void> {
    await expect.poll(async () => (await this.run(page, beginning, "any")).stdout).toMatch(text);
  }

  /** Starts a worker. Resolves when all of its processes run. */
  async startWorker(): Promise<RunningWorker> {
    const words = shown(...this.place.worker, this.place.words);
    const served = words.includes("--metrics") ? words : [...words, "--metrics", "0"];
    const process = this.#project.start(served);
    const urls = () => process.lines.flatMap((line) => /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? []);
    await process.said(() => urls().length === processes);
    return { process, addresses: urls() };
  }

  /** Starts a program that writes orders. Resolves when it has written each of its rows. */
  async startLoad(prefix: string): Promise<ProgramProcess> {
    const load = this.#project.start(["tsx", "load.ts", this.place.location, prefix]);
    this.#loads.push(load);
    await this.progress(load);
    return load;
  }

  /** Waits until a load has written each of its rows once more. */
  async progress(load: ProgramProcess): Promise<void> {
    const from = load.lines.length;
    await load.said(() => load.lines.length > from + rowsOfLoad);
  }

  /** The newest acknowledged serial number of each row. */
  acknowledged(prefix = ""): ReadonlyMap<string, number> {
    const orders = this.#loads.flatMap(({ lines }) => lines).filter((line) => line.startsWith(prefix));
    return new Map(
      orders.map((line) => {
        const [row, serial] = line.split(" ") as [string, string];
        return [row, Number(serial)];
      }),
    );
  }

  /** Waits until a page of a worker answers so. */
  async answers(address: string, page: string, status: number, text: RegExp): Promise<void> {
    const ask = async () => {
      const response = await fetch(new URL(page, address), { signal: AbortSignal.timeout(answerMs) });
      return { status: response.status, text: await response.text() };
    };
    await expect.poll(ask).toEqual({ status, text: expect.stringMatching(text) });
  }

  /** Derives everything again, and compares it. */
  async verify(): Promise<Verified> {
    const { stdout } = await this.#project.run(["npx", "tsx", "verify.ts", this.place.location]);
    return JSON.parse(stdout) as Verified;
  }
}
