/**
 * The property of a record whose names are those of tables or columns. A table or column may be called
 * `constructor`, and each object inherits a property of that name.
 */
export function ownProperty<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}
