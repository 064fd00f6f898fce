import { hash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { FaultError, fault } from "../../core/fault.ts";
import { shown } from "../tree-path.ts";
import { errorCode } from "./disk.ts";

export interface TreeLockOptions {
  readonly root: string;
  readonly identity: string;
  /** For systems where names of sockets are files. */
  readonly place: string;
  /** Before anybody works: others may have been there. */
  readonly onHeld: () => void;
}

/**
 * The right to work on a tree, for one process of this machine, and in that for one call; whoever only looks shares it. It is a name
 * that a socket is bound to: the operating system gives it to one, and takes it back when that one dies, however it dies. Nothing
 * ever connects to it.
 */
export class TreeLock {
  readonly #root: string;
  readonly #name: string;
  readonly #onHeld: () => void;
  #server: Server | null = null;
  /** Settled when the name is ours, and whoever came first has seen what others did. */
  #held: Promise<void> | null = null;
  #holders = 0;
  #taken = false;

  constructor({ root, identity, place, onHeld }: TreeLockOptions) {
    this.#root = root;
    this.#onHeld = onHeld;
    const name = hash("sha256", `writ tree ${identity}`).slice(0, 32);
    this.#name = process.platform === "linux" ? `\0writ-${name}` : `${place}/${name}.sock`;
  }

  /** A call of this process is at work, or about to be. */
  get isTaken(): boolean {
    return this.#taken;
  }

  /** For one call, until it is given back. */
  async take(): Promise<void> {
    if (this.#taken) throw busy(this.#root, "another call of this process is at work on it");
    this.#taken = true;
    try {
      await this.#hold();
    } catch (error) {
      this.#taken = false;
      throw error;
    }
  }

  give(): void {
    this.#taken = false;
    this.#free();
  }

  /** For somebody who changes nothing in the tree; a call of this process may be at work on it. */
  async share<Answer>(work: () => Answer): Promise<Awaited<Answer>> {
    await this.#hold();
    try {
      return await work();
    } finally {
      this.#free();
    }
  }

  /** The name is free when this returns: closing the socket does not wait for anybody. */
  close(): void {
    this.#server?.close();
    this.#server = null;
    this.#held = null;
    this.#holders = 0;
  }

  async #hold(): Promise<void> {
    this.#holders += 1;
    this.#held ??= this.#bind();
    try {
      await this.#held;
    } catch (error) {
      this.#free();
      throw error;
    }
  }

  #free(): void {
    this.#holders = Math.max(0, this.#holders - 1);
    if (this.#holders === 0) this.close();
  }

  async #bind(): Promise<void> {
    const server = createServer((socket) => socket.destroy());
    server.unref();
    this.#server = server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", (error) => reject(this.#refused(error)));
      server.once("close", () => reject(busy(this.#root, "this process has let go of it")));
      server.listen(this.#name, resolve);
    });
    this.#onHeld();
  }

  #refused(error: Error): Error {
    return errorCode(error) === "EADDRINUSE" ? busy(this.#root, "another process is at work on it") : error;
  }
}

export function isBusy(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RESOURCE_BUSY";
}

function busy(root: string, why: string): FaultError {
  return new FaultError(fault("RESOURCE_BUSY", `${shown(root)} is taken: ${why}; it is free when that call has ended`));
}
