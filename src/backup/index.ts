export {
  type BackupFailure,
  type BackupProgress,
  type BackupReport,
  FolderBackup,
  type FolderBackupOptions,
} from "./folder-backup.js";
export { type BackupEntry, BackupPlace, type BackupProblem, type KeepRules } from "./place.js";
export { type RestoreOptions, type RestoreReport, restore } from "./restore.js";
export type { BackupStorage, Variables } from "./storage.js";
export { storageOf } from "./storage-of.js";
