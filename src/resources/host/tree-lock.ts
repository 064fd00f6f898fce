import { hash } from "node:crypto";
import { createServer, type Server } from "node:net";
import { FaultError, fault } from "../../core/fault.ts";
import { shown } from "../tree-path.ts";

/**
 * The right to work on a tree, for one call of one process of this machine. It is a name that a socket is bound to: the operating
 * system gives it to one, and takes it back when that one dies, however it dies. Nothing ever connects to it.
 */
export class TreeLock {
  readonly #root: string;
  readonly #name: string;
  #held: Server | null = null;

  /** `place` is for systems where names of sockets are files. */
  constructor(root: string, identity: string, place: string) {
    this.#root = root;
    const name = hash("sha256", `writ tree ${identity}`).slice(0, 32);
    this.#name = process.platform === "linux" ? `\0writ-${name}` : `${place}/${name}.sock`;
  }

  get isHeld(): boolean {
    return this.#held !== null;
  }

  async take(): Promise<void> {
    if (this.#held !== null) throw taken(this.#root);
    const server = createServer((socket) => socket.destroy());
    server.unref();
    this.#held = server;
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(this.#name, resolve);
      });
    } catch (error) {
      this.#held = null;
      const reason = error instanceof Error ? error.message : String(error);
      throw reason.includes("EADDRINUSE") ? busy(this.#root, "another process is at work on it") : error;
    }
  }

  /** The name is free when this returns: closing the socket does not wait for anybody. */
  free(): void {
    this.#held?.close();
    this.#held = null;
  }
}

/** By another call of this process. */
export function taken(root: string): FaultError {
  return busy(root, "another call of this process is at work on it");
}

export function isBusy(error: unknown): boolean {
  return error instanceof FaultError && error.fault.code === "RESOURCE_BUSY";
}

function busy(root: string, why: string): FaultError {
  return new FaultError(fault("RESOURCE_BUSY", `${shown(root)} is taken: ${why}; it is free when that call has ended`));
}
