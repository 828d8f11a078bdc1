/**
 * `percolatordb/backup`: backs up the folder of a database while it is in use, and restores it. See
 * docs/backup-and-restore.md.
 */

export {
  BackupAccessError,
  BackupBusyError,
  BackupDamagedError,
  BackupError,
  BackupFullError,
} from "../errors/index.js";
export { type BackupOptions, backup, type FollowBackupOptions, followBackup } from "./backup.js";
export {
  type BackupSummary,
  type ListBackupsOptions,
  listBackups,
  type VerifyBackupsReport,
  verifyBackups,
} from "./backups.js";
export { type CompactOptions, type CompactReport, compact } from "./compact.js";
export type { BackupFailure, BackupProgress, BackupReport } from "./folder-backup.js";
export type { BackupProblem, KeepRules, VerifyBackupsOptions } from "./place.js";
export { type RestoreOptions, type RestoreReport, restore } from "./restore.js";
export type { Variables } from "./storage.js";
export type { PlaceOptions } from "./surroundings.js";
