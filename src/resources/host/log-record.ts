import type { Digest } from "../../core/id.ts";
import type { Access } from "../../core/resource.ts";
import type { TreePath } from "../tree-path.ts";
import type { ProcessMoment } from "./lingering.ts";
import type { FileRecord } from "./record-file.ts";
import type { Standing } from "./tree-node.ts";

/** How something was before the call first touched it. */
export type Was =
  | { readonly kind: "absent" }
  | ({ readonly kind: "directory" } & Standing)
  | ({ readonly kind: "link"; readonly target: string } & Standing)
  /** Its bytes are with the record, or it was moved aside whole and is there as it was. */
  | ({ readonly kind: "file"; readonly size: number; readonly ino: number; readonly digest: Digest | null } & Standing);

/** How something was when the call had ended: enough to see that somebody else changed it since. */
export interface After {
  readonly path: TreePath;
  readonly mark: string;
}

export type LogRecord =
  | {
      readonly type: "begun";
      readonly v: 1;
      readonly tag: string;
      readonly access: Access;
      readonly tree: Digest | null;
      /** When, for a call that may start processes; null for others, and where nobody can tell. */
      readonly since: ProcessMoment | null;
      /** Bytes of contents that were kept for it and were not there before. */
      readonly added: number;
    }
  /** The tool may be at work past the handle. */
  | { readonly type: "opened" }
  | { readonly type: "was"; readonly path: TreePath; readonly was: Was }
  /** A file that the call deleted, under another name outside the tree. */
  | { readonly type: "aside"; readonly path: TreePath; readonly name: string }
  /** It was to be made, and somebody else made it. */
  | { readonly type: "unmade"; readonly path: TreePath }
  | {
      readonly type: "closed";
      readonly tree: Digest | null;
      readonly added: number;
      readonly after: readonly After[];
    }
  /** That it ended well is on record: it is a point to come back to. */
  | { readonly type: "kept" }
  | { readonly type: "restoring" }
  | { readonly type: "restored"; readonly changed: number }
  /** Nobody will ask for it again. */
  | { readonly type: "dropped" }
  /** It could have been gone back to, and made room for others. */
  | { readonly type: "let_go" };

export interface LoggedRecord {
  readonly record: LogRecord;
  readonly at: Pick<FileRecord, "from" | "at" | "bytes">;
}
