import type { Engine, PrincipalInput } from "../engine/api/engine-api.ts";
import { McpSession } from "./mcp-session.ts";

interface ClientSessionsOptions {
  /** The agent that the calls are made for. */
  readonly principal: PrincipalInput;
  readonly project?: string;
  readonly session: string;
  /** True for a tool that only reads. */
  isRead(tool: string): boolean;
}

/** The server keeps its sessions while it runs. */
const SESSION_IDLE_MS = 24 * 60 * 60 * 1000;

/** The sessions of the clients of one MCP server of Writ, by the names of the clients. */
export class ClientSessions {
  readonly #engine: Engine;
  readonly #options: ClientSessionsOptions;
  readonly #sessions = new Map<string, Promise<McpSession>>();

  constructor(engine: Engine, options: ClientSessionsOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Opens the session of a client, at its first call. */
  open(client: string): Promise<McpSession> {
    const known = this.#sessions.get(client);
    if (known !== undefined) return known;
    const { session, ...options } = this.#options;
    const opened = McpSession.open(this.#engine, {
      ...options,
      session: sessionName(session, client, this.#sessions.size),
      agent: { name: client },
      releaseMs: SESSION_IDLE_MS,
    });
    this.#sessions.set(client, opened);
    opened.catch(() => this.#sessions.delete(client));
    return opened;
  }

  /** Gives the sessions to other processes. */
  async release(onError: (error: unknown) => void): Promise<void> {
    for (const opened of this.#sessions.values()) await opened.then((each) => each.release()).catch(onError);
  }
}

/** A server with one client has one session. Over HTTP, each further client has its own. */
function sessionName(session: string, client: string, others: number): string {
  return others === 0 ? session : `${session} ${client}`.slice(0, 150);
}
