import type { Access } from "../../core/ports/resource.ts";
import type { Digest } from "../../core/values/ids.ts";
import type { TreePath } from "../tree-path.ts";
import type { FileRecord } from "./record-file.ts";
import type { ProcessMark } from "./running-processes.ts";
import type { NodeMetadata } from "./tree-node.ts";

/** The state of a path before the call first changed it. */
export type PriorState =
  | { readonly kind: "absent" }
  | ({ readonly kind: "directory" } & NodeMetadata)
  | ({ readonly kind: "link"; readonly target: string } & NodeMetadata)
  /** With a digest, the bytes are stored with the record. Without one, the file was moved aside unchanged. */
  | ({
      readonly kind: "file";
      readonly size: number;
      readonly ino: number;
      readonly digest: Digest | null;
    } & NodeMetadata);

/** The state of a path when the call ended, enough to detect a later change by another program. */
export interface FinalMark {
  readonly path: TreePath;
  readonly mark: string;
}

export type CaptureRecord =
  | {
      readonly type: "begun";
      readonly v: 1;
      readonly tag: string;
      readonly access: Access;
      readonly tree: Digest | null;
      /**
       * The start of a call with raw access, which may start processes; otherwise null, and null where the system has
       * no mark.
       */
      readonly since: ProcessMark | null;
      /** Bytes of new contents that were stored for it. */
      readonly added: number;
    }
  /** The tool may change the tree without the handle. */
  | { readonly type: "opened" }
  | { readonly type: "was"; readonly path: TreePath; readonly was: PriorState }
  /** A file that the call deleted and that was moved aside under this name, outside the tree. */
  | { readonly type: "aside"; readonly path: TreePath; readonly name: string }
  /** The call was about to create it, but another program created it first. */
  | { readonly type: "unmade"; readonly path: TreePath }
  | {
      readonly type: "closed";
      readonly tree: Digest | null;
      readonly added: number;
      readonly after: readonly FinalMark[];
    }
  /** The journal records the success of the call; its capture can be restored. */
  | { readonly type: "kept" }
  | { readonly type: "restoring" }
  | { readonly type: "restored"; readonly changed: number }
  /** The capture is dropped: its process died before the call changed anything. */
  | { readonly type: "unused" }
  /** The capture is released. */
  | { readonly type: "dropped" }
  /** The kept capture was dropped because of a limit. */
  | { readonly type: "let_go" };

export interface LoggedRecord {
  readonly record: CaptureRecord;
  readonly at: Pick<FileRecord, "from" | "at" | "bytes">;
}
