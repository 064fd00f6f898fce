import type { Server } from "@modelcontextprotocol/server";
import type { Instant } from "../core/values/ids.ts";
import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import { ClientSessions } from "./client-sessions.ts";
import { errorsWithoutEffect } from "./errors-without-effect.ts";
import type { ServerConfig } from "./gateway-config.ts";
import { GatewayTools } from "./gateway-tools.ts";
import { mcpServerFactory } from "./mcp-server-factory.ts";
import { pinningTools, ToolPins } from "./tool-pins.ts";
import { UpstreamServer } from "./upstream-server.ts";

export interface McpGatewayOptions {
  /** Its slices contain `mcpPinSlice`. */
  readonly engine: Engine;
  readonly servers: Readonly<Record<string, ServerConfig>>;
  /** The agent that the calls are made for. */
  readonly principal: PrincipalInput;
  /** The project whose state holds the pinned tools. Default: mcp. */
  readonly project?: string;
  /** The name of the session. Default: mcp. A second gateway with the same name gets the next free number. */
  readonly session?: string;
  /** How long a request waits for a person before it is answered as held. Default: 45 s; clients give up after 60. */
  readonly holdMs?: number;
  /** The environment that secrets are taken from. Default: that of this process. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Receives notes for the person who runs the gateway. Default: they are dropped. */
  readonly onNote?: (text: string) => void;
}

/** A gateway: MCP clients see the tools of its servers, and every call is judged, made once and on record. */
export interface McpGateway {
  /** Makes the server of one connection, for `serveStdio` or `createMcpHandler` of the MCP SDK. */
  readonly server: () => Server;
  /** Ends the servers behind the gateway. The engine stays open. */
  close(): Promise<void>;
}

/** Opens a gateway in front of MCP servers. The servers start when a client first asks for tools. */
export async function mcpGateway(options: McpGatewayOptions): Promise<McpGateway> {
  const { engine, principal, project = "mcp", session = "mcp", holdMs = 45_000 } = options;
  const onNote = options.onNote ?? (() => {});
  const onError = (error: unknown) => onNote(error instanceof Error ? error.message : String(error));
  await engine.tools.put(pinningTools);
  const tools = new GatewayTools({ engine, pins: new ToolPins(engine, { principal, project }), onNote });
  const upstreams = Object.entries(options.servers).map(([name, config]) => {
    const upstream = new UpstreamServer(name, config, {
      environment: options.environment ?? process.env,
      now: () => performance.now(),
      onNote,
      onToolsChanged: () => void tools.refresh(name).catch(onError),
    });
    const command = "command" in config ? [config.command, ...(config.args ?? [])] : [];
    tools.add({ upstream, settings: config.tools ?? {}, notDone: errorsWithoutEffect(command) });
    return upstream;
  });
  const isRead = (tool: string) => tools.isRead(tool);
  const sessions = new ClientSessions(engine, { principal, project, session, isRead });
  const server = await mcpServerFactory({
    tools,
    session: (client) => sessions.open(client),
    holdMs,
    onError,
    now: () => Date.now() as Instant,
  });
  return {
    server,
    close: async () => {
      await Promise.all(upstreams.map((upstream) => upstream.close()));
      await sessions.release(onError);
    },
  };
}
