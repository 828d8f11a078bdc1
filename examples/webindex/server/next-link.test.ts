import { expect, it } from "vitest";
import type { SearchAnswer } from "../search/search.js";
import { foundPart } from "./pages.js";
import { maxOffset, readQuestion } from "./question.js";

it.each([0, maxOffset - 10, maxOffset])("links only to pages of results that exist, after %d", (offset) => {
  const question = readQuestion(new URLSearchParams(`q=word&offset=${offset}`));
  if (typeof question === "string") expect.unreachable(question);
  const answer: SearchAnswer = {
    terms: ["word"],
    total: 5_000,
    results: Array.from({ length: 10 }, (_, at) => ({
      url: `https://example.org/${at}`,
      title: "",
      score: 1,
      snippet: [],
      rank: 0,
      duplicates: 0,
      versions: [],
    })),
    next: "1 https://example.org/9",
    suggestion: undefined,
  };
  const { source } = foundPart({ ...question, answer });
  const links = [...source.matchAll(/href="\/search\?([^"]*)"/g)].map(([, query]) => query!);
  expect(links.some((query) => query.includes(`offset=${offset + 10}`))).toBe(offset < maxOffset);
  for (const query of links)
    expect(readQuestion(new URLSearchParams(query.replace(/&(amp|#38);/g, "&")))).toBeTypeOf("object");
});
