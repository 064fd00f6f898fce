export type {
  Access,
  Capture,
  Closing,
  KeptCaptures,
  Left,
  Moment,
  Resource,
  ResourceChange,
  RestoreReport,
} from "./core/resource.ts";
export { type FileLimits, fileLimits } from "./resources/file-limits.ts";
export type {
  DeleteOptions,
  Edit,
  FileEntry,
  FileStat,
  Filesystem,
  GrepMatch,
  GrepOptions,
  WriteOptions,
} from "./resources/filesystem.ts";
export type { Disk } from "./resources/host/disk.ts";
export { HostFilesystem } from "./resources/host/host-filesystem.ts";
export type { HostFilesystemOptions } from "./resources/host/host-parts.ts";
export { MemoryFilesystem, type MemoryFilesystemOptions } from "./resources/memory-filesystem.ts";
export { protectedNames } from "./resources/tree-path.ts";
