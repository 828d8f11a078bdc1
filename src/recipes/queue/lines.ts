const newline = 0x0a;

/**
 * Yields the lines of a file. `readline` is no substitute: it may end lines at U+2028 and U+2029,
 * which JSON strings may contain.
 */
export async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      yield Buffer.concat([...begun, chunk.subarray(start, end)]).toString();
      begun = [];
      start = end + 1;
    }
    begun.push(chunk.subarray(start));
  }
  yield Buffer.concat(begun).toString();
}
