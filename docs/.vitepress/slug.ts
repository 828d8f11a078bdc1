/** The anchor of a heading, as it is where the pages are read as files too, so that a link leads to the same place in both. */
export function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\- _]/gu, "")
    .replaceAll(" ", "-");
}
