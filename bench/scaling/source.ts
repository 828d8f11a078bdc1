import { openDefaultSource, openSource, type Source } from "../../examples/webindex/sources/index.js";

/** The source at a path, or for an empty one the documentation under `node_modules`. */
export function sourceAt(path: string): Promise<Source> {
  return path === "" ? openDefaultSource(process.cwd()) : openSource(path);
}

/** The first pages of a source, as of an archive: what it does not have is not gone. */
export function firstPages(source: Source, most: number): Source {
  return {
    ...source,
    scope: undefined,
    async *items(signal) {
      let count = 0;
      for await (const item of source.items(signal)) {
        yield item;
        if (item.kind === "page" && ++count === most) return;
      }
    },
  };
}
