import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { FaultError, fault } from "../core/values/fault.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import { httpLimits } from "./http-limits.ts";

/** The limits of requests in progress. */
export type LoadLimits = Pick<typeof httpLimits, "principalRequests" | "heldBodyBytes">;

/** Takes bytes of a body into memory until its request is answered. Throws SERVER_BUSY if there is no room. */
export type HoldBytes = (bytes: number) => void;

/** The requests in progress. No principal takes all connections of the server, and bodies do not take all memory. */
export class RequestLoad {
  readonly #limits: { readonly [Name in keyof LoadLimits]: number };
  readonly #requests = new Map<string, number>();
  /** The ends of the requests on each connection, also of those that wait behind another one. */
  readonly #connections = new WeakMap<Socket, Set<() => void>>();
  #bytes = 0;

  constructor(limits: { readonly [Name in keyof LoadLimits]: number } = httpLimits) {
    this.#limits = limits;
  }

  /** Counts a request until it is answered or its connection has ended. A stream is a request in progress. */
  begin({ tenant, kind, id }: PrincipalInput, outgoing: ServerResponse): HoldBytes {
    const key = JSON.stringify([tenant, kind, id]);
    const count = this.#requests.get(key) ?? 0;
    if (count >= this.#limits.principalRequests)
      throw busy(`${id} has ${count} requests in progress; end some, or wait for their answers`);
    this.#requests.set(key, count + 1);
    let held = 0;
    let isOver = false;
    const { socket } = outgoing.req;
    const onConnection = this.#endsOf(socket);
    const release = () => {
      if (isOver) return;
      isOver = true;
      onConnection.delete(release);
      this.#bytes -= held;
      const left = (this.#requests.get(key) ?? 1) - 1;
      if (left === 0) this.#requests.delete(key);
      else this.#requests.set(key, left);
    };
    onConnection.add(release);
    outgoing.once("close", release);
    if (socket.destroyed || outgoing.destroyed) release(); // It ended while its credential was checked.
    return (bytes) => {
      if (isOver) throw busy("the request has ended");
      if (this.#bytes + bytes > this.#limits.heldBodyBytes) throw busy("the server has too many large requests");
      this.#bytes += bytes;
      held += bytes;
    };
  }

  /** A response that waits behind another one of its connection is not closed with it, so the connection is watched. */
  #endsOf(socket: Socket): Set<() => void> {
    const known = this.#connections.get(socket);
    if (known !== undefined) return known;
    const ends = new Set<() => void>();
    this.#connections.set(socket, ends);
    socket.once("close", () => {
      for (const end of [...ends]) end();
    });
    return ends;
  }
}

function busy(message: string): FaultError {
  return new FaultError(fault("SERVER_BUSY", message));
}
