import { z } from "zod";
import { client, type WritClient } from "../../src/client/client.ts";
import { HttpCaller } from "../../src/client/http-caller.ts";
import type { VersionedGuard } from "../../src/core/call/guard.ts";
import type { Tool } from "../../src/core/tool/tool.ts";
import type { ApiScope } from "../../src/http-api/api-route.ts";
import { defineSlice } from "../../src/schema/define-slice.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import type { ServerRoute } from "../../src/server/server-route.ts";
import { deferred } from "../engine/scripted-tool.ts";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

/** An answer that is no refusal, and the route that gave it. */
export interface AnsweredRequest {
  readonly verb: string;
  readonly status: number;
  readonly media: string;
  /** Undefined: the answer has no JSON. */
  readonly body: unknown;
}

/** A request of a tenant that another tenant has sent first, and its answer. */
export interface CrossedRequest {
  readonly verb: string;
  /** The path, the query and the body. */
  readonly request: string;
  readonly status: number;
  /** Empty for a stream. */
  readonly answer: string;
}

const word = z.object({ word: z.string() });
const notes = defineSlice({ name: "notes", shape: "list", entry: z.string() });

const write = defineTool({
  name: "note.write",
  effect: "writes",
  input: word,
  output: word,
  run: async (given, context) => {
    context.slice(notes).append(given.word);
    return given;
  },
});
const send = defineTool({ name: "mail.send", effect: "acts", input: word, output: word, run: async (given) => given });
const ask = defineTool({ name: "mail.ask", effect: "acts", input: word, output: word, run: async (given) => given });
/** Holds `mail.ask` for the confirmation of a client, which needs no person. */
const confirmation: VersionedGuard = {
  id: "confirmation",
  version: "1",
  judge: ({ step }) =>
    step.spec.name === "mail.ask"
      ? { kind: "hold", rule: "ask", reason: "intended?", demand: { role: null, kind: "confirmation" } }
      : { kind: "allow" },
};
const lose = defineTool({
  name: "mail.lose",
  effect: "acts",
  input: word,
  output: word,
  compensate: async () => ({}),
  run: async () => {
    throw new Error("the connection was reset");
  },
});
const fail = defineTool({
  name: "page.fail",
  effect: "reads",
  input: word,
  output: word,
  run: async () => {
    throw new Error("not now");
  },
});
const draw = defineTool({
  name: "image.draw",
  effect: "reads",
  input: word,
  output: {},
  run: async () => new Uint8Array([0, 1, 255]) as never,
});

/** A tool that answers when the test says so. */
function waitingTool(): { readonly tool: Tool; continue(): void } {
  const waiting = deferred<void>();
  const tool = defineTool({
    name: "page.wait",
    effect: "reads",
    input: word,
    output: word,
    run: async (given) => waiting.promise.then(() => given),
  });
  return { tool, continue: () => waiting.keep() };
}

/** A server with an agent and a person. It records every answer that is no refusal. */
export class RouteWorld {
  readonly answers: AnsweredRequest[] = [];
  readonly crossed: CrossedRequest[] = [];
  readonly agent: WritClient;
  readonly person: WritClient;
  readonly caller: HttpCaller;
  readonly continuePages: () => void;
  readonly #served: ServedEngine;
  readonly #routes: ReadonlyMap<string, ServerRoute>;

  /** The key of another tenant that sends each request first. Null: there is none. */
  readonly #stranger: string | null;

  private constructor(
    served: ServedEngine,
    continuePages: () => void,
    { table, isCrossed }: { readonly table: readonly ServerRoute[]; readonly isCrossed: boolean },
  ) {
    this.continuePages = continuePages;
    this.#stranger = isCrossed ? served.key({ id: "eve", tenant: "other", roles: ["chief", "operator"] }) : null;
    this.#served = served;
    this.#routes = new Map(table.map((route) => [route.verb, route]));
    const options = (token: string) => ({ url: served.server.url, token, fetch: this.#fetch });
    const agentScopes: readonly ApiScope[] = ["read", "submit"];
    this.agent = client(options(served.key({ id: "bot", kind: "agent" }, agentScopes)));
    this.person = client(options(served.key({ roles: ["chief", "operator"] })));
    this.caller = new HttpCaller(options(served.key({ roles: ["chief", "operator"] })));
  }

  /** `isCrossed`: a person of another tenant, with all scopes, sends each request before its sender does. */
  static async open(table: readonly ServerRoute[], isCrossed = false): Promise<RouteWorld> {
    const pages = waitingTool();
    const tools = [write, send, ask, lose, fail, draw, pages.tool];
    const settings = { mode: "human_gated", trust: ["mail.lose", "mail.ask"] } as const;
    const served = await serveEngine({
      engine: { tools, guards: [confirmation], slices: [notes], tenants: { acme: settings } },
    });
    return new RouteWorld(served, pages.continue, { table, isCrossed });
  }

  get bugs(): readonly unknown[] {
    return this.#served.bugs;
  }

  route(verb: string): ServerRoute {
    return this.#routes.get(verb) as ServerRoute;
  }

  /** Returns the answer to a request of the route with an argument that it does not have. */
  async refusal({ method, path, body }: ServerRoute): Promise<{ readonly status: number; readonly body: unknown }> {
    const url = `${this.#served.server.url}${path.replaceAll(/\{\w+\}/g, "x")}`;
    const headers = { authorization: `Bearer ${this.#served.key({})}` };
    const response =
      body === null
        ? await fetch(`${url}?unknown=1`, { method, headers })
        : await fetch(url, {
            method,
            headers: { ...headers, "content-type": "application/json" },
            body: '{"unknown":1}',
          });
    return { status: response.status, body: await response.json() };
  }

  close(): Promise<void> {
    return this.#served.close();
  }

  async #cross(stranger: string, address: string, init: RequestInit): Promise<void> {
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${stranger}` };
    const response = await fetch(address, { ...init, headers });
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const answer = isStream ? "" : await response.text();
    await response.body?.cancel().catch(() => {});
    const { pathname, search } = new URL(address);
    const request = `${decodeURIComponent(`${pathname}${search}`)} ${init.body ?? ""}`;
    this.crossed.push({ verb: this.#verbOf(init.method ?? "GET", pathname), request, status: response.status, answer });
  }

  readonly #fetch = (async (address: string, init: RequestInit) => {
    if (this.#stranger !== null) await this.#cross(this.#stranger, address, init);
    const response = await fetch(address, init);
    const media = response.headers.get("content-type") ?? "";
    if (response.status < 400 && !media.startsWith("application/problem+json")) {
      const { pathname } = new URL(address);
      const text = media.startsWith("application/json") ? await response.clone().text() : "";
      const body = text === "" ? undefined : JSON.parse(text);
      this.answers.push({ verb: this.#verbOf(init.method ?? "GET", pathname), status: response.status, media, body });
    }
    return response;
  }) as typeof fetch;

  #verbOf(method: string, path: string): string {
    const matches = [...this.#routes.values()].filter(
      (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
    );
    // A path without arguments is more exact than one with them.
    return (matches.find(({ path: pattern }) => pattern === path) ?? matches[0])?.verb ?? `${method} ${path}`;
  }
}
