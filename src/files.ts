export type {
  AbandonedCapture,
  Access,
  Capture,
  KeptCaptures,
  Resource,
  ResourceChange,
  ResourceClosing,
  ResourceContents,
  ResourceDifference,
  ResourceMoment,
  RestoreReport,
} from "./core/ports/resource.ts";
export { type FileLimits, fileLimits } from "./resources/file-limits.ts";
export type {
  DeleteOptions,
  FileEdit,
  FileEntry,
  FileStat,
  Filesystem,
  GrepMatch,
  GrepOptions,
  WriteOptions,
} from "./resources/filesystem-handle.ts";
export type { Disk } from "./resources/host/disk.ts";
export { HostFilesystem } from "./resources/host/host-filesystem.ts";
export type { HostFilesystemOptions } from "./resources/host/working-tree.ts";
export { MemoryFilesystem, type MemoryFilesystemOptions } from "./resources/memory/memory-filesystem.ts";
export { type SnapshotableOptions, snapshotable } from "./resources/snapshotable/snapshotable.ts";
export { protectedNames } from "./resources/tree-path.ts";
