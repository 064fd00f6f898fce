import type { Engine } from "../engine/api/engine-api.ts";
import { defineMcpTool, type McpToolSettings } from "./define-mcp-tool.ts";
import { listMcpTools } from "./list-mcp-tools.ts";
import type { McpToolDefinition } from "./mcp-protocol.ts";
import { mcpToolNames } from "./mcp-tool-names.ts";
import type { ServedTool, ServedTools } from "./served-tools.ts";
import { pinningTools, type ToolPins } from "./tool-pins.ts";
import type { UpstreamServer } from "./upstream-server.ts";

/** A server behind the gateway, with the declarations of its tools. */
interface GatewayServer {
  readonly upstream: UpstreamServer;
  readonly settings: Readonly<Record<string, McpToolSettings>>;
  /** Returns the errors of a tool that prove that nothing happened. */
  readonly notDone: (tool: string) => RegExp | null;
}

interface GatewayToolsOptions {
  readonly engine: Engine;
  readonly pins: ToolPins;
  readonly onNote: (text: string) => void;
}

/** The tools of all servers behind a gateway that are as they were accepted. */
export class GatewayTools implements ServedTools {
  readonly #options: GatewayToolsOptions;
  readonly #servers = new Map<string, GatewayServer>();
  /** The tools of each server that has answered. */
  readonly #served = new Map<string, readonly ServedTool[]>();
  /** All tools with the names that clients use. Null: they have changed. */
  #named: readonly ServedTool[] | null = null;
  readonly #reads = new Set<string>();
  readonly #listeners = new Set<() => void>();
  readonly #refreshes = new Map<string, Promise<void>>();
  /** The changed tools that a person was asked about, by server, tool and definition. */
  readonly #asked = new Set<string>();

  constructor(options: GatewayToolsOptions) {
    this.#options = options;
  }

  add(server: GatewayServer): void {
    this.#servers.set(server.upstream.name, server);
  }

  async list(): Promise<readonly ServedTool[]> {
    const missing = [...this.#servers.keys()].filter((name) => !this.#served.has(name));
    await Promise.all(missing.map((name) => this.refresh(name).catch((error) => this.#note(error))));
    this.#named ??= this.#withClientNames();
    return this.#named;
  }

  isRead(tool: string): boolean {
    return this.#reads.has(tool);
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads the tools of a server again. Refreshes of one server follow each other. */
  refresh(name: string): Promise<void> {
    const before = this.#refreshes.get(name) ?? Promise.resolve();
    const refreshed = before.catch(() => {}).then(() => this.#refresh(name));
    this.#refreshes.set(name, refreshed);
    return refreshed;
  }

  async #refresh(name: string): Promise<void> {
    const server = this.#servers.get(name) as GatewayServer;
    const { upstream } = server;
    const definitions = (await listMcpTools(await upstream.client(), name)).map((each) => upstream.redactor.json(each));
    const accepted = await this.#options.pins.accepted(name, definitions);
    const usable = definitions.filter((definition) => accepted.has(definition.name));
    const isFirst = !this.#served.has(name);
    await this.#serve(server, usable);
    if (isFirst) this.#noteDeclarations(server, usable);
    else for (const listener of this.#listeners) listener();
    for (const changed of definitions.filter((definition) => !accepted.has(definition.name)))
      await this.#askToAccept(name, changed);
  }

  async #serve({ upstream, settings, notDone }: GatewayServer, usable: readonly McpToolDefinition[]): Promise<void> {
    const { engine } = this.#options;
    const names = mcpToolNames(
      upstream.name,
      usable.map((definition) => definition.name),
      (name) => pinningTools.some((own) => own.name === name),
    );
    const source = {
      server: upstream.name,
      client: () => upstream.client(),
      redact: <Said>(said: Said) => upstream.redactor.json(said),
    };
    const tools = usable.map((definition) => {
      const tool = names.get(definition.name) as string;
      return defineMcpTool(tool, definition, settings[definition.name] ?? {}, {
        ...source,
        notDone: notDone(definition.name),
      });
    });
    await engine.tools.put(tools);
    const gone = (this.#served.get(upstream.name) ?? []).filter(({ tool }) => !tools.some(({ name }) => name === tool));
    if (gone.length > 0) await engine.tools.remove(gone.map(({ tool }) => tool));
    for (const { name, effect } of tools) if (effect === "reads") this.#reads.add(name);
    const served = usable.map((definition) => {
      return { definition, tool: names.get(definition.name) as string, isMcp: true };
    });
    this.#served.set(upstream.name, served);
    this.#named = null;
  }

  /** A tool that was added or changed stays disabled until a person accepts it. */
  async #askToAccept(server: string, definition: McpToolDefinition): Promise<void> {
    const run = await this.#options.pins.askToAccept(server, definition);
    if (this.#asked.has(run.run_id)) return;
    this.#asked.add(run.run_id);
    const { gates } = await run.result();
    const gate = gates[0]?.gate_id;
    const what = gate === undefined ? "it was rejected" : `see and accept it: writ gates, then writ approve ${gate}`;
    this.#options.onNote(`${server}: the tool ${definition.name} is new or has changed, and is disabled; ${what}`);
    if (gate === undefined) return;
    run.finished().then(
      () => this.refresh(server).catch((error) => this.#note(error)),
      (error) => this.#note(error),
    );
  }

  /** Tools have the names that their servers give them. Where two servers use one name, the server precedes it. */
  #withClientNames(): readonly ServedTool[] {
    const all = [...this.#served].flatMap(([server, tools]) => tools.map((served) => ({ server, served })));
    const uses = new Map<string, number>();
    for (const { served } of all) uses.set(served.definition.name, (uses.get(served.definition.name) ?? 0) + 1);
    return all.map(({ server, served }) => {
      const { name } = served.definition;
      if (uses.get(name) === 1) return served;
      return { ...served, definition: { ...served.definition, name: `${server}.${name}` } };
    });
  }

  /** Says which tools are taken as acts, with the line that declares those that only read. */
  #noteDeclarations({ upstream, settings }: GatewayServer, usable: readonly McpToolDefinition[]): void {
    const undeclared = usable.filter(({ name }) => settings[name]?.effect === undefined);
    if (undeclared.length === 0) return;
    const names = undeclared.map(({ name }) => name);
    const hinted = undeclared.filter(({ annotations }) => isReadOnlyHint(annotations)).map(({ name }) => name);
    const hint =
      hinted.length === 0
        ? ""
        : ` The server calls these read-only; if you agree, declare them: --reads ${hinted.join(",")}`;
    const known = new Set(usable.map(({ name }) => name));
    const unknown = Object.keys(settings).filter((name) => !known.has(name));
    this.#options.onNote(`${upstream.name}: taken as acts, held for a person: ${names.join(", ")}.${hint}`);
    if (unknown.length > 0) this.#options.onNote(`${upstream.name}: it has no tool ${unknown.join(", ")}`);
  }

  #note(error: unknown): void {
    this.#options.onNote(error instanceof Error ? error.message : String(error));
  }
}

function isReadOnlyHint(annotations: object | undefined): boolean {
  return annotations !== undefined && "readOnlyHint" in annotations && annotations.readOnlyHint === true;
}
