import { expect, test } from "vitest";
import { FigureResults } from "../figures/figure.js";
import { samples } from "../figures/testing/samples.js";
import { postgresStore } from "./postgres-figure.js";

test("the rates are drawn with the server, their floors and the delay", () => {
  const { tables, plots } = postgresStore.draw(new FigureResults(samples[postgresStore.name]!));
  const drawn = tables.join("\n");
  expect(drawn).toContain("The server: server_version 15.1, shared_buffers 512MB, fsync on.");
  expect(drawn).toContain("| transactions a second | 21,000 | 18,900 to 23,100 | at least 20,000: met |");
  expect(drawn).toContain("| cells a second | 39,000 | 35,100 to 42,900 | at least 40,000: **missed** |");
  expect(drawn).toContain("| reads a second | 45,000 | 40,500 to 49,500 | at least 40,000: met |");
  expect(drawn).toContain("| 20.0: met |");
  expect(drawn).not.toMatch(/NaN|undefined/);
  expect(plots.map(({ name }) => name)).toEqual(["postgres-store"]);
  expect(plots[0]!.svg).toContain("transactions of one cell, 1,000 in flight");
});

test("nothing is drawn without results", () => {
  expect(postgresStore.draw(new FigureResults({}))).toEqual({ tables: [], plots: [] });
});
