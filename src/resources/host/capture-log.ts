import type { Digest } from "../../core/id.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Access } from "../../core/resource.ts";
import type { TreePath } from "../tree-path.ts";
import { type Disk, syncDirectory } from "./disk.ts";
import { type FileRecord, RecordFile } from "./record-file.ts";
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
    }
  /** The tool may be at work past the handle. */
  | { readonly type: "opened" }
  | { readonly type: "was"; readonly path: TreePath; readonly was: Was }
  /** A file that the call deleted, under another name outside the tree. */
  | { readonly type: "aside"; readonly path: TreePath; readonly name: string }
  /** It was to be made, and somebody else made it. */
  | { readonly type: "unmade"; readonly path: TreePath }
  | { readonly type: "closed"; readonly tree: Digest | null; readonly after: readonly After[] }
  | { readonly type: "restoring" }
  | { readonly type: "restored" };

export interface LoggedRecord {
  readonly record: LogRecord;
  readonly at: Pick<FileRecord, "at" | "bytes">;
}

/** begun: nothing can have been changed yet. open: the tool may be at work, or has died at it. */
export type LogState = "begun" | "open" | "closed" | "restoring" | "restored";

/** What one call must know to be undone, written before it changes anything. */
export class CaptureLog {
  readonly id: string;
  readonly #file: RecordFile;
  readonly #records: LoggedRecord[];

  private constructor(id: string, file: RecordFile, records: readonly LoggedRecord[]) {
    this.id = id;
    this.#file = file;
    this.#records = [...records];
  }

  static begin(
    disk: Disk,
    folder: string,
    id: string,
    begun: Omit<LogRecord & { type: "begun" }, "type" | "v">,
  ): CaptureLog {
    const log = new CaptureLog(id, RecordFile.create(disk, `${folder}/${id}`), []);
    log.append({ type: "begun", v: 1, ...begun });
    // Its name is enough: what it says is on disk with the next record, before anything is changed.
    syncDirectory(disk, folder);
    return log;
  }

  static open(disk: Disk, folder: string, id: string): CaptureLog {
    const { file, records } = RecordFile.open(disk, `${folder}/${id}`);
    // What stands in the file was written by `append`.
    const read = records.map(({ head, at, bytes }) => ({ record: head as unknown as LogRecord, at: { at, bytes } }));
    return new CaptureLog(id, file, read);
  }

  get records(): readonly LoggedRecord[] {
    return this.#records;
  }

  get state(): LogState {
    const types = this.#records.map(({ record }) => record.type);
    const last = types.findLast((type) => type === "closed" || type === "restoring" || type === "restored");
    return last ?? (types.includes("opened") || types.includes("was") ? "open" : "begun");
  }

  append(record: LogRecord, bytes?: Uint8Array): void {
    const at = this.#file.append(record as unknown as JsonObject, bytes);
    this.#records.push({ record, at });
  }

  appendFrom(record: LogRecord, length: number, chunks: Iterable<Uint8Array>): void {
    this.#records.push({ record, at: this.#file.appendFrom(record as unknown as JsonObject, length, chunks) });
  }

  *bytes({ at }: LoggedRecord): Generator<Uint8Array> {
    const step = 8_388_608;
    for (let from = 0; from < at.bytes; from += step) yield this.#file.read(at, from, step);
  }

  sync(): void {
    this.#file.sync();
  }

  close(): void {
    this.#file.close();
  }
}
