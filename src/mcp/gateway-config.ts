import { isPlainObject } from "../core/json/plain-object.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { McpToolSettings } from "./define-mcp-tool.ts";
import { assertServerName } from "./mcp-tools.ts";

/** A value of the environment, or the name of a variable of the gateway that holds a secret. */
export type EnvironmentValue = string | { readonly secret: string };

/** The fields that every server has. */
export interface CommonServerConfig {
  /** The declarations of its tools, by the names that the server gives them. A tool that is absent acts. */
  readonly tools?: Readonly<Record<string, McpToolSettings>>;
}

/** A server that the gateway starts as a process. It gets PATH and exactly the variables that `env` names. */
export interface ProcessServerConfig extends CommonServerConfig {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, EnvironmentValue>> | "inherit";
  readonly cwd?: string;
}

/** A server that the gateway reaches over HTTP. */
export interface HttpServerConfig extends CommonServerConfig {
  readonly url: string;
  readonly headers?: Readonly<Record<string, EnvironmentValue>>;
}

export type ServerConfig = ProcessServerConfig | HttpServerConfig;

const commonFields = ["tools"];
const processFields = ["command", "args", "env", "cwd", ...commonFields];
const httpFields = ["url", "headers", ...commonFields];
const toolFields = ["effect", "errorsMean", "risk", "timeoutMs", "identity", "onDuplicate"];

/** Reads `{ "servers": { name: … } }`, or throws CONFIG_INVALID with all problems. */
export function readGatewayConfig(given: unknown, where: string): Readonly<Record<string, ServerConfig>> {
  const servers = isPlainObject(given) ? (given.servers ?? given.mcpServers) : undefined;
  if (!isPlainObject(servers) || Object.keys(servers).length === 0)
    throw invalid(where, ['it needs { "servers": { "name": { "command": "…" } } }']);
  const other = Object.keys(given as object).filter((field) => field !== "servers" && field !== "mcpServers");
  const problems = other.map((field) => `the field ${field} is unknown`);
  for (const [name, server] of Object.entries(servers)) {
    assertServerName(name);
    problems.push(...serverProblems(server).map((problem) => `${name}: ${problem}`));
  }
  if (problems.length > 0) throw invalid(where, problems);
  return servers as Readonly<Record<string, ServerConfig>>;
}

function invalid(where: string, problems: readonly string[]): FaultError {
  return new FaultError(fault("CONFIG_INVALID", `${where} cannot be used: ${problems.join("; ")}`, { problems }));
}

function serverProblems(server: unknown): readonly string[] {
  if (!isPlainObject(server)) return ["it must be an object"];
  const isHttp = server.url !== undefined;
  if (isHttp === (server.command !== undefined)) return ["it needs either a command or a url"];
  const known = isHttp ? httpFields : processFields;
  const problems = Object.keys(server)
    .filter((field) => !known.includes(field))
    .map((field) => `the field ${field} is unknown; the fields are ${known.join(", ")}`);
  if (isHttp && !isHttpUrl(server.url)) problems.push("url must be an http or https address");
  if (!isHttp && typeof server.command !== "string") problems.push("command must be a text");
  if (server.args !== undefined && !isTexts(server.args)) problems.push("args must be a list of texts");
  if (server.cwd !== undefined && typeof server.cwd !== "string") problems.push("cwd must be a path");
  if (server.env !== undefined && server.env !== "inherit") problems.push(...valueProblems("env", server.env));
  if (server.headers !== undefined) problems.push(...valueProblems("headers", server.headers));
  return [...problems, ...toolProblems(server.tools)];
}

function isHttpUrl(url: unknown): boolean {
  return typeof url === "string" && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function valueProblems(field: string, values: unknown): readonly string[] {
  if (!isPlainObject(values)) return [`${field} must be an object`];
  return Object.entries(values)
    .filter(([, value]) => typeof value !== "string" && !isSecret(value))
    .map(([name]) => `${field}.${name} must be a text or { "secret": "NAME" }`);
}

function isSecret(value: unknown): boolean {
  return isPlainObject(value) && typeof value.secret === "string" && Object.keys(value).length === 1;
}

function toolProblems(tools: unknown): readonly string[] {
  if (tools === undefined) return [];
  if (!isPlainObject(tools)) return ["tools must be an object"];
  return Object.entries(tools).flatMap(([tool, settings]) => {
    if (!isPlainObject(settings)) return [`tools.${tool} must be an object`];
    const unknown = Object.keys(settings).filter((field) => !toolFields.includes(field));
    if (unknown.length > 0) return [`tools.${tool}.${unknown[0]} is unknown; the fields are ${toolFields.join(", ")}`];
    const { effect } = settings;
    const isFit = effect === undefined || effect === "reads" || effect === "acts";
    return isFit ? [] : [`tools.${tool}.effect must be reads or acts`];
  });
}
