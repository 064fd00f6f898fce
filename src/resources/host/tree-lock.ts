import { hash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { FaultError, fault } from "../../core/values/fault.ts";
import { printablePath } from "../tree-path.ts";
import { errorCode } from "./disk.ts";

export interface TreeLockOptions {
  readonly root: string;
  readonly identity: string;
  /** The folder for the socket, on systems where socket names are files. */
  readonly socketFolder: string;
  /** Runs when this process gets the lock; another process may have changed the tree before. */
  readonly onHeld: () => void;
}

/**
 * The lock of a tree: one process of the machine holds it, and in that process one call takes it exclusively, while
 * readers share it. The lock is a socket name. The operating system gives a name to one process and frees it when that
 * process ends, however it ends. Nothing connects to the socket.
 */
export class TreeLock {
  readonly #root: string;
  readonly #name: string;
  readonly #onHeld: () => void;
  #server: Server | null = null;
  /** Resolves when this process holds the name and `onHeld` has run. */
  #bound: Promise<void> | null = null;
  #holders = 0;
  #isTaken = false;

  constructor({ root, identity, socketFolder, onHeld }: TreeLockOptions) {
    this.#root = root;
    this.#onHeld = onHeld;
    const name = hash("sha256", `writ tree ${identity}`).slice(0, 32);
    this.#name = process.platform === "linux" ? `\0writ-${name}` : `${socketFolder}/${name}.sock`;
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

  /** The name is free when this returns, because closing a socket is synchronous. */
  close(): void {
    this.#server?.close();
    this.#server = null;
    this.#bound = null;
    this.#holders = 0;
  }

  async #acquire(): Promise<void> {
    this.#holders += 1;
    this.#bound ??= this.#bind();
    try {
      await this.#bound;
    } catch (error) {
      this.#releaseHolder();
      throw error;
    }
  }

  #releaseHolder(): void {
    this.#holders = Math.max(0, this.#holders - 1);
    if (this.#holders === 0) this.close();
  }

  async #bind(): Promise<void> {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(this.#toBusyFault(error)));
      server.once("close", () => reject(busyFault(this.#root, "this process has released the lock")));
      server.listen(this.#name, resolve);
    });
    this.#onHeld();
  }

  #toBusyFault(error: Error): Error {
    return errorCode(error) === "EADDRINUSE" ? busyFault(this.#root, "another process holds the lock") : error;
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
