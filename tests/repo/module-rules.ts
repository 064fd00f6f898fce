/** One module of `src`: its content, and everything that it may import. An import that is not listed is an error. */
export interface ModuleRule {
  readonly name: string;
  readonly about: string;
  /** Other modules it may import; type imports count. */
  readonly modules: readonly string[];
  /** Packages it may import. */
  readonly packages: readonly string[];
  /** Node's own modules it may import. */
  readonly node: "any" | readonly string[];
}

export const moduleRules: readonly ModuleRule[] = [
  {
    name: "core",
    about: "data types, decisions and ports; no I/O",
    modules: [],
    packages: [],
    node: [],
  },
  {
    name: "policy",
    about: "guards and policies, which allow, hold or refuse a call",
    modules: ["core"],
    packages: [],
    node: [],
  },
  {
    name: "expression",
    about: "conditions in CEL, evaluated within a step limit",
    modules: ["core"],
    packages: ["@marcbachmann/cel-js"],
    node: [],
  },
  {
    name: "schema",
    about: "JSON Schema and Standard Schema; `defineTool` and `defineSlice`",
    modules: ["core", "expression"],
    packages: ["@standard-schema/spec", "ajv-formats"],
    node: ["node:crypto"],
  },
  {
    name: "peer-packages",
    about: "the versions of the packages that a program installs beside Writ",
    modules: ["core"],
    packages: [],
    node: ["node:fs", "node:path", "node:url"],
  },
  {
    name: "store/memory",
    about: "the reference store, in memory",
    modules: ["core"],
    packages: [],
    node: "any",
  },
  {
    name: "store/simulation",
    about: "an overlay that reads another store and keeps its writes, for simulation",
    modules: ["core", "store/memory"],
    packages: [],
    node: "any",
  },
  {
    name: "store/sqlite",
    about: "the store in one file",
    modules: ["core", "peer-packages"],
    packages: ["@photostructure/sqlite"],
    node: "any",
  },
  {
    name: "store/postgres",
    about: "the store that many processes share",
    modules: ["core"],
    packages: ["pg"],
    node: "any",
  },
  {
    name: "engine",
    about: "execution: loads facts, asks for decisions, appends them, calls tools",
    modules: ["core", "policy", "expression", "store/simulation"],
    packages: [],
    node: ["node:async_hooks", "node:crypto"],
  },
  {
    name: "resources",
    about: "files that tools change and Writ restores",
    modules: ["core", "store/sqlite"],
    packages: [],
    node: "any",
  },
  {
    name: "verifiers",
    about: "verifiers for e-mail and files",
    modules: ["core"],
    packages: [],
    node: "any",
  },
  {
    name: "testing/crashtest",
    about: "the crash test of a tool: kills the process of a call and compares the record with the effects",
    modules: ["core", "engine", "store/sqlite"],
    packages: [],
    node: "any",
  },
  {
    name: "testing",
    about: "tools for tests of stores, decisions and adapters",
    modules: ["core", "engine", "policy", "expression", "schema", "store/memory", "agents"],
    packages: [],
    node: "any",
  },
  {
    name: "otel",
    about: "spans and metrics for OpenTelemetry, from observers and from journals",
    modules: ["core", "engine", "peer-packages"],
    packages: ["@opentelemetry/api"],
    node: ["node:crypto"],
  },
  {
    name: "mcp",
    about: "the gateway and the tools of the Model Context Protocol",
    modules: ["core", "engine", "schema", "peer-packages"],
    packages: ["@modelcontextprotocol/client", "@modelcontextprotocol/server"],
    node: ["node:async_hooks", "node:crypto", "node:http", "node:stream", "node:stream/web"],
  },
  {
    name: "agents",
    about: "`govern`: the open run of a session for the adapters of agent frameworks",
    modules: ["core", "engine", "schema", "peer-packages"],
    packages: [],
    node: ["node:crypto", "node:fs", "node:path", "node:url"],
  },
  {
    name: "ai-sdk",
    about: "the adapter for the AI SDK",
    modules: ["core", "engine", "agents"],
    packages: [],
    node: [],
  },
  {
    name: "anthropic",
    about: "the adapter for the SDK of Anthropic",
    modules: ["core", "engine", "agents"],
    packages: [],
    node: [],
  },
  {
    name: "claude-agent-sdk",
    about: "the adapter for the Claude Agent SDK",
    modules: ["core", "engine", "agents"],
    packages: [],
    node: ["node:crypto"],
  },
  {
    name: "openai",
    about: "the adapter for the SDK of OpenAI",
    modules: ["core", "engine", "agents"],
    packages: [],
    node: [],
  },
  {
    name: "http-api",
    about: "the routes of the HTTP API, as its server and its clients see them",
    modules: [],
    packages: [],
    node: [],
  },
  {
    name: "notify",
    about: "messages to people about notices: webhook, Slack, e-mail",
    modules: ["core", "engine", "http-api"],
    packages: ["nodemailer"],
    node: ["node:crypto", "node:fs", "node:module"],
  },
  {
    name: "server",
    about: "the HTTP API: its route table, authentication, streams and problem documents",
    modules: ["core", "engine", "schema", "otel", "http-api"],
    packages: ["hono", "@hono/node-server", "jose"],
    node: "any",
  },
  {
    name: "client",
    about: "a client of the HTTP API with the verbs of the engine",
    modules: ["core", "engine", "http-api"],
    packages: [],
    node: [],
  },
  {
    name: "cli",
    about: "the command line",
    modules: [
      "core",
      "policy",
      "expression",
      "schema",
      "store/memory",
      "store/simulation",
      "store/sqlite",
      "store/postgres",
      "engine",
      "verifiers",
      "otel",
      "mcp",
      "http-api",
      "notify",
      "server",
      "client",
      "testing/crashtest",
    ],
    packages: ["commander", "picocolors"],
    node: "any",
  },
];

/** Folders of one layer. They import only folders of earlier layers of their module, not each other. */
interface LayerRule {
  readonly folders: readonly string[];
  readonly about: string;
}

/** The layers inside `core` and `engine`, lowest first. */
export const layerRules: readonly LayerRule[] = [
  { folders: ["core/values"], about: "ids, effects, faults, JSON values, assertions" },
  {
    folders: ["core/json", "core/persistent", "core/ports", "core/time"],
    about:
      "canonical and checked JSON; persistent collections; ports for clock, schema, expression and resource; cron, time zones and windows",
  },
  {
    folders: ["core/limits", "core/store"],
    about: "budgets and tallies; the store port, its tables and the conditions of an append",
  },
  { folders: ["core/state"], about: "slices, drafts, patches, versions" },
  { folders: ["core/approval", "core/tool"], about: "demands, votes, principals, previews; the tool declaration" },
  { folders: ["core/plan"], about: "plans: their form, checks and graph" },
  { folders: ["core/model"], about: "requests to models and their answers, by their shape" },
  { folders: ["core/event"], about: "all events" },
  { folders: ["core/run"], about: "the folded run and its steps, results, transitions" },
  { folders: ["core/call"], about: "a proposed call and the guard port" },
  { folders: ["core/evolve"], about: "the run after an event, and the rows that follow" },
  { folders: ["core/settings"], about: "journals of halts, project locks, schedules and tenant policies" },
  { folders: ["core/decide"], about: "commands and decisions" },
  { folders: ["engine/ports"], about: "clock, random source, ids, failpoints, digests" },
  { folders: ["engine/api"], about: "the public interfaces, and the readers of their arguments" },
  { folders: ["engine/journal"], about: "commands to events: mailbox, append, loading a run" },
  { folders: ["engine/state"], about: "project states, versions, drafts of attempts" },
  { folders: ["engine/resources"], about: "captures and restores around a call" },
  { folders: ["engine/rules"], about: "policies, halts, tenant settings, trust in force" },
  { folders: ["engine/call"], about: "the six stages of a call" },
  { folders: ["engine/worker"], about: "leases, due runs, the scheduler of steps, recovery" },
  { folders: ["engine/messages"], about: "submissions, signals, schedules, child runs" },
  { folders: ["engine/session"], about: "open runs: sessions, their leases, the calls of agents" },
  { folders: ["engine/admin"], about: "gates, undo, fork, simulation, checkpoints, projects, audit, retention" },
];

/** The place of a path below src (`engine/admin/audit/moved-rows.ts`) in the layers, or undefined if it is in none. */
export function layerOf(path: string): { readonly folder: string; readonly height: number } | undefined {
  for (const [height, { folders }] of layerRules.entries()) {
    const folder = folders.find((name) => path.startsWith(`${name}/`));
    if (folder !== undefined) return { folder, height };
  }
  return undefined;
}

/** The files directly in src: named re-exports of any module, and nothing else. */
export const entryPoint = "an entry point";

/** The module of a path below src (`store/sqlite/migrate-file.ts`), an entry point, or undefined if no module has that name. */
export function moduleOf(path: string): string | undefined {
  if (!path.includes("/")) return entryPoint;
  return moduleRules.find(({ name }) => path.startsWith(`${name}/`))?.name;
}
