/** Returns all items of an iterable. */
export async function gather<T>(iterable: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}
