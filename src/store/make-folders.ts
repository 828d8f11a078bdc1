import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";

/** Makes a folder and those above it. Resolves to the first that was made. */
export async function makeFolders(folder: string): Promise<string | undefined> {
  try {
    return await mkdir(folder, { recursive: true });
  } catch (error) {
    // On a read-only file system, Node.js says only that the folder does not exist. Without
    // `recursive`, it says why it cannot be made.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(folder) === folder) throw error;
    const first = await makeFolders(dirname(folder));
    await mkdir(folder);
    return first ?? folder;
  }
}
