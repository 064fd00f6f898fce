import { z } from "zod";
import { client, type WritClient } from "../../src/client/client.ts";
import type { Engine, PrincipalInput } from "../../src/engine/api/engine-api.ts";
import { createEngine } from "../../src/engine/engine.ts";
import { type ApiScope, scopes } from "../../src/http-api/api-route.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { type ApiKey, apiKeys, makeApiKey } from "../../src/server/api-keys.ts";
import { BrowserLogins } from "../../src/server/browser-logins.ts";
import { ConsoleFiles } from "../../src/server/console-files.ts";
import type { Authenticator } from "../../src/server/credential.ts";
import type { DemoSupervisor } from "../../src/server/demo-routes.ts";
import { type ApiServer, type ServeApiOptions, serveApi } from "../../src/server/serve-api.ts";

import { memoryStore } from "../../src/store/memory/memory-store.ts";

/** Tools of the server under test: one that is pure, and one that acts and is held. */
function serverTools(sent: string[] = []) {
  return [
    defineTool({
      name: "text.echo",
      effect: "pure",
      input: z.object({ to: z.string() }),
      output: z.object({ to: z.string() }),
      run: async (given) => given,
    }),
    defineTool({
      name: "mail.send",
      effect: "acts",
      input: z.object({ to: z.string() }),
      output: z.object({ sent: z.boolean() }),
      run: async ({ to }) => {
        sent.push(to);
        return { sent: true };
      },
    }),
  ];
}

export const planOf = (to: string, tool = "mail.send") => ({
  steps: [{ step_id: "send", name: tool, payload: { to } }],
});

export interface ServedEngine {
  readonly engine: Engine;
  readonly server: ApiServer;
  readonly sent: string[];
  readonly bugs: unknown[];
  readonly browsers: BrowserLogins;
  /** The time of the server's credentials. */
  time: number;
  key(principal: Partial<PrincipalInput>, given?: readonly ApiScope[], expires_at?: number | null): string;
  revoke(text: string): void;
  client(principal?: Partial<PrincipalInput>, given?: readonly ApiScope[]): WritClient;
  close(): Promise<void>;
}

/** Serves an engine on a free port of the loopback address, with keys that the test makes. */
export async function serveEngine(
  given: {
    readonly engine?: Partial<Parameters<typeof createEngine>[0]>;
    readonly authenticators?: readonly Authenticator[];
    readonly console?: ConsoleFiles;
    readonly times?: ServeApiOptions["times"];
    readonly loadLimits?: ServeApiOptions["loadLimits"];
    readonly demo?: DemoSupervisor;
  } = {},
): Promise<ServedEngine> {
  const sent: string[] = [];
  const bugs: unknown[] = [];
  const keys = new Map<string, ApiKey>();
  const engine = await createEngine({ store: memoryStore(), tools: serverTools(sent), ...given.engine });
  const now = () => served.time;
  const browsers = new BrowserLogins(new Uint8Array(32).fill(7), now);
  const server = await serveApi({
    engine,
    port: 0,
    host: "127.0.0.1",
    authenticators: [apiKeys(() => [...keys.values()], now), browsers.authenticate, ...(given.authenticators ?? [])],
    browsers,
    console: given.console ?? new ConsoleFiles(),
    ...(given.times && { times: given.times }),
    ...(given.loadLimits && { loadLimits: given.loadLimits }),
    ...(given.demo !== undefined && { demo: given.demo }),
    isReady: async () => true,
    metrics: () => "",
    now,
    onBug: (error) => bugs.push(error),
  });
  const served: ServedEngine = {
    engine,
    server,
    sent,
    bugs,
    browsers,
    time: 1_700_000_000_000,
    key: (principal, granted = scopes, expires_at = null) => {
      const whole = { id: "ana", kind: "person", tenant: "acme", ...principal } as const;
      const allowed =
        whole.kind === "agent" ? granted.filter((scope) => scope === "read" || scope === "submit") : granted;
      const { key, text } = makeApiKey({ principal: whole, scopes: allowed, expires_at }, served.time);
      keys.set(text, key);
      return text;
    },
    revoke: (text) => keys.set(text, { ...(keys.get(text) as ApiKey), revoked_at: served.time }),
    client: (principal = {}, granted = scopes) => client({ url: server.url, token: served.key(principal, granted) }),
    close: async () => {
      await server.close();
      await engine.close();
    },
  };
  return served;
}
