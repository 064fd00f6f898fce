import { join } from "node:path";
import { FaultError, fault } from "../../core/values/fault.ts";
import { LockFile } from "../../store/sqlite/lock-file.ts";
import { printablePath } from "../tree-path.ts";

export interface TreeLockOptions {
  readonly root: string;
  /** The folder of the captures, which belongs to one tree. */
  readonly store: string;
  /** Runs when this process gets the lock; another process may have changed the tree before. */
  readonly onHeld: () => void;
}

/**
 * The lock of a tree: one process holds it, and in that process one call takes it exclusively, while readers share it.
 * The lock is a lock file in the folder of the captures, so it holds for every process that reaches this folder, also in
 * another container. The operating system frees it when the process ends, however it ends.
 */
export class TreeLock {
  readonly #root: string;
  readonly #path: string;
  readonly #onHeld: () => void;
  /** The lock file stays open between calls, because opening it costs more than locking it. */
  #file: LockFile | null = null;
  #isHeld = false;
  #holders = 0;
  #isTaken = false;

  constructor({ root, store, onHeld }: TreeLockOptions) {
    this.#root = root;
    this.#path = join(store, "lock");
    this.#onHeld = onHeld;
  }

  /** True while a call of this process holds or awaits the exclusive lock. */
  get isTaken(): boolean {
    return this.#isTaken;
  }

  /** Takes the exclusive lock for one call, until `release`. */
  async take(): Promise<void> {
    if (this.#isTaken) throw busyFault(this.#root, "another call of this process holds the lock");
    this.#isTaken = true;
    try {
      await this.#acquire();
    } catch (error) {
      this.#isTaken = false;
      throw error;
    }
  }

  release(): void {
    this.#isTaken = false;
    this.#releaseHolder();
  }

  /** Runs work that does not change the tree. A call of this process may hold the exclusive lock meanwhile. */
  async share<Answer>(work: () => Answer): Promise<Awaited<Answer>> {
    await this.#acquire();
    try {
      return await work();
    } finally {
      this.#releaseHolder();
    }
  }

  /** The lock is free when this returns. */
  close(): void {
    this.#file?.free();
    this.#file = null;
    this.#isHeld = false;
    this.#holders = 0;
  }

  async #acquire(): Promise<void> {
    this.#holders += 1;
    try {
      this.#lock();
      // A caller that releases the lock in this turn gets no work done under it.
      await Promise.resolve();
      if (!this.#isHeld) throw busyFault(this.#root, "this process has released the lock");
    } catch (error) {
      this.#releaseHolder();
      throw error;
    }
  }

  #lock(): void {
    if (this.#isHeld) return;
    if (this.#file?.relock() !== true) {
      this.#file?.free();
      this.#file = LockFile.takeOrCreate(this.#path);
    }
    if (this.#file === null) throw busyFault(this.#root, "another process holds the lock");
    this.#isHeld = true;
    this.#onHeld();
  }

  #releaseHolder(): void {
    this.#holders = Math.max(0, this.#holders - 1);
    if (this.#holders > 0 || !this.#isHeld) return;
    this.#isHeld = false;
    this.#file?.unlock();
  }
}

export function isTreeBusy(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RESOURCE_BUSY";
}

function busyFault(root: string, why: string): FaultError {
  return new FaultError(
    fault("RESOURCE_BUSY", `${printablePath(root)} is locked: ${why}; try again when that call has ended`),
  );
}
