import { spawnSync } from "node:child_process";
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** A file system of its own, in memory and with a small size, that a test can fill. */
export class SmallDisk {
  readonly #balloon: string;

  private constructor(folder: string) {
    this.#balloon = join(folder, "balloon");
  }

  /** Mounts it on a folder. Null if this process is not allowed to. */
  static mount(folder: string, mebibytes: number): SmallDisk | null {
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "writ-chaos", folder]);
    return status === 0 ? new SmallDisk(folder) : null;
  }

  /** Leaves no free page. */
  fill(): void {
    const file = openSync(this.#balloon, "a");
    for (const bytes of [2 ** 22, 2 ** 12]) while (write(file, Buffer.alloc(bytes)) === bytes);
    closeSync(file);
  }

  free(): void {
    rmSync(this.#balloon, { force: true });
  }
}

/** Returns how many bytes were written before the disk was full. */
function write(file: number, bytes: Buffer): number {
  try {
    return writeSync(file, bytes);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOSPC") return 0;
    throw error;
  }
}
