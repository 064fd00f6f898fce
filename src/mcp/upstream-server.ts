import type { Client, Transport } from "@modelcontextprotocol/client";
import { fault, notDone } from "../core/values/fault.ts";
import { writVersion } from "../core/values/writ-version.ts";
import type { ServerConfig } from "./gateway-config.ts";
import { loadClientSdk, loadClientStdio } from "./load-sdk.ts";
import { type McpClient, mcpLimits } from "./mcp-protocol.ts";
import { resolveSecrets } from "./resolve-secrets.ts";
import { SecretRedactor } from "./secret-redactor.ts";

/** The waiting time before a server that failed is started again: it doubles with each failure in a row. */
const backoff = { firstMs: 250, mostMs: 30_000, healthyMs: 60_000 } as const;

export interface UpstreamOptions {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Receives what the server writes to its standard error, and why it ended, without its secrets. */
  readonly onNote: (text: string) => void;
  /** The server says that its list of tools has changed. */
  readonly onToolsChanged: () => void;
}

/** A server behind the gateway. It is started by its first request, and again after it has ended. */
export class UpstreamServer {
  readonly name: string;
  readonly redactor: SecretRedactor;
  readonly #config: ServerConfig;
  readonly #options: UpstreamOptions;
  readonly #values: Record<string, string>;
  #client: Promise<Client> | null = null;
  #startedAt = 0;
  #failures = 0;
  #isClosed = false;

  /** Throws CONFIG_INVALID if a secret is missing. */
  constructor(name: string, config: ServerConfig, options: UpstreamOptions) {
    this.name = name;
    this.#config = config;
    this.#options = options;
    const secrets = new Map<string, string>();
    const named = "url" in config ? (config.headers ?? {}) : config.env === "inherit" ? {} : (config.env ?? {});
    this.#values = resolveSecrets(name, named, options.environment, secrets);
    this.redactor = new SecretRedactor(secrets);
  }

  /** Returns the connected client. Without a connection, throws a fault that proves that nothing was sent. */
  async client(): Promise<McpClient> {
    if (this.#isClosed) throw this.#unavailable("the gateway closes");
    if (this.#client === null) {
      const waits = this.#waitMs();
      if (waits > 0) throw this.#unavailable(`it failed ${this.#failures} times; the next start is in ${waits} ms`);
      this.#startedAt = this.#options.now();
      this.#client = this.#connect();
    }
    try {
      return (await this.#client) as unknown as McpClient;
    } catch (error) {
      throw this.#unavailable(this.redactor.text(error instanceof Error ? error.message : String(error)));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const client = await this.#client?.catch(() => null);
    await client?.close();
  }

  #waitMs(): number {
    if (this.#failures === 0) return 0;
    const delay = Math.min(backoff.firstMs * 2 ** (this.#failures - 1), backoff.mostMs);
    return Math.max(0, Math.ceil(this.#startedAt + delay - this.#options.now()));
  }

  async #connect(): Promise<Client> {
    const sdk = await loadClientSdk();
    const onChanged = () => this.#options.onToolsChanged();
    const client = new sdk.Client(
      { name: "writ", version: writVersion },
      { listChanged: { tools: { onChanged, autoRefresh: false } } },
    );
    client.onerror = (error) => this.#note(error.message);
    try {
      await client.connect(await this.#transport(), { timeout: mcpLimits.requestMs });
    } catch (error) {
      this.#fail();
      await client.close().catch(() => {});
      throw error;
    }
    client.onclose = () => {
      if (this.#isClosed) return;
      this.#note("the connection ended");
      this.#fail();
    };
    return client;
  }

  #fail(): void {
    const isHealthy = this.#options.now() - this.#startedAt >= backoff.healthyMs;
    this.#failures = isHealthy ? 1 : this.#failures + 1;
    this.#client = null;
  }

  async #transport(): Promise<Transport> {
    const config = this.#config;
    if ("url" in config) {
      const { StreamableHTTPClientTransport } = await loadClientSdk();
      return new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers: this.#values } });
    }
    const { StdioClientTransport, DEFAULT_INHERITED_ENV_VARS } = await loadClientStdio();
    // The SDK adds variables such as HOME, unless they are given.
    const removed = Object.fromEntries(DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]));
    const { command, args = [], cwd, env } = config;
    const environment = env === "inherit" ? definedValues(this.#options.environment) : this.#values;
    const { PATH } = this.#options.environment;
    const transport = new StdioClientTransport({
      command,
      args: [...args],
      env: { ...removed, ...(PATH !== undefined && { PATH }), ...environment } as Record<string, string>,
      stderr: "pipe",
      ...(cwd !== undefined && { cwd }),
    });
    transport.stderr?.on("data", (chunk: Buffer) => this.#note(chunk.toString("utf8").trimEnd()));
    return transport;
  }

  #note(text: string): void {
    this.#options.onNote(`${this.name}: ${this.redactor.text(text).slice(0, mcpLimits.errorText)}`);
  }

  #unavailable(why: string): Error {
    const message = `MCP server ${this.name} is not available: ${why.slice(0, mcpLimits.errorText)}`;
    return notDone(fault("DEPENDENCY_UNAVAILABLE", message));
  }
}

function definedValues(environment: UpstreamOptions["environment"]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
