import type { Digest } from "../values/ids.ts";

/** The tool that a run was accepted with. If a worker has another tool under this name, the steps park. */
export interface ToolPin {
  readonly version: string;
  readonly schema_hash: Digest;
  /** For acts, the digest of the settings that decide whether an act is the same and may be repeated. */
  readonly act_hash?: Digest;
}
