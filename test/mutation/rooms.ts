/** What the tests of a folder of the source are, and what a mutant of it can change. */
interface Room {
  /** The tests nearest to the folder, and those of its direct users. */
  readonly tests: readonly string[];
  /** Whether tests of transactions on a memory store or a folder run the folder's code. */
  readonly isBelowTransactions?: boolean;
  /** Whether simulation and exploration run it. */
  readonly isSimulated?: boolean;
}

/** The folders from which mutants are drawn, each equally often. */
const rooms = {
  "src/transaction": { tests: ["src/transaction"], isBelowTransactions: true, isSimulated: true },
  "src/observer": { tests: ["src/observer"], isBelowTransactions: true, isSimulated: true },
  "src/oracle": {
    tests: ["src/oracle", "test/coordinator/sessions.test.ts"],
    isBelowTransactions: true,
    isSimulated: true,
  },
  "src/store/memory": {
    tests: ["test/conformance/memory.test.ts", "src/transaction"],
    isBelowTransactions: true,
    isSimulated: true,
  },
  "src/store/lmdb": {
    tests: ["src/store/lmdb", "test/conformance/lmdb.test.ts"],
    isBelowTransactions: true,
  },
  "src/store/bigtable": { tests: ["src/store/bigtable", "test/bigtable"] },
  "src/store/postgres": { tests: ["src/store/postgres", "test/conformance", "test/postgres"] },
  "src/postgres": { tests: ["src/postgres", "test/postgres/attach", "test/postgres/views"] },
  "src/environment": { tests: ["src/environment"], isBelowTransactions: true },
  "src/database": { tests: ["src/database"], isBelowTransactions: true },
  "src/schema": { tests: ["src/schema", "test/properties"], isBelowTransactions: true },
  "src/recipes": { tests: ["src/recipes", "test/properties"] },
  "src/live": { tests: ["src/live", "test/live"] },
  "src/evolution": { tests: ["src/evolution", "test/evolution", "src/cli/commands"] },
  "src/backup": { tests: ["src/backup", "test/backup"] },
  "src/coordinator": { tests: ["src/coordinator", "test/coordinator"] },
  "src/dashboard": { tests: ["src/dashboard", "test/dashboard"] },
  "src/cli": { tests: ["src/cli"] },
  "src/testing": { tests: ["src/testing", "test/exploration"] },
} as const satisfies Readonly<Record<string, Room>>;

export const folders: readonly string[] = Object.keys(rooms);

export function folderOf(path: string): string | undefined {
  return folders.find((folder) => path.startsWith(`${folder}/`));
}

/** The room of a source file. The file must be in one of {@link folders}. */
export function roomOf(path: string): Room {
  return rooms[folderOf(path) as keyof typeof rooms];
}
