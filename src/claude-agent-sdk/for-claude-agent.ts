import { CallsMadeAgain } from "../agents/calls-made-again.ts";
import { FileCheckpoints } from "../agents/file-checkpoints.ts";
import type { CallDecision, Governed } from "../agents/governed.ts";
import { GovernedServer, type InProcessServer } from "../agents/governed-server.ts";
import { HostCalls } from "../agents/host-calls.ts";
import { TranscriptRecord } from "../agents/transcript-record.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { CloseOptions } from "../engine/api/open-run-api.ts";
import type { PrincipalOptions } from "../engine/api/request-options.ts";
import type { CheckpointRef } from "../engine/api/state-api.ts";
import { assertKnownFields } from "../engine/api/verb-options.ts";
import { builtInTerms, mayChangeFiles } from "./built-in-tools.ts";
import { GovernedHooks } from "./governed-hooks.ts";

/** The options of a query of the Claude Agent SDK, as far as the adapter reads and sets them. */
interface QueryOptions {
  readonly hooks?: Readonly<Record<string, readonly object[]>>;
  readonly mcpServers?: Readonly<Record<string, object>>;
  readonly abortController?: AbortController;
  readonly resume?: string;
  readonly sessionId?: string;
  readonly continue?: boolean;
  readonly persistSession?: boolean;
  readonly sessionStore?: unknown;
}

/** A governed session for the Claude Agent SDK. */
export interface ClaudeAgentAdapter extends Pick<Governed, "run" | "close"> {
  /** True: the session of Claude goes on from its recorded transcript, so the prompt need not be asked again. */
  readonly resumed: boolean;
  /** The option `options` of `query`: your own, with hooks, governed servers and the recorded session of Claude. */
  options<Options extends object>(options: Options): Options;
  /**
   * Returns the checkpoint of the files before or after a call, by the id of the call, for `engine.checkpoints.restore`
   * and `diff`.
   */
  checkpoint(id: string, side: CheckpointRef["side"]): Promise<CheckpointRef>;
  /** Decides held calls for the person whom your program has authenticated. */
  decide(decision: CallDecision | readonly CallDecision[], options: PrincipalOptions): Promise<void>;
}

export interface ClaudeAgentOptions {
  /**
   * The name of the resource of the engine (`HostFilesystem`) that holds the working tree. Its files are captured around
   * each call that may change them. Default: no files are captured.
   */
  readonly files?: string;
}

/** Claude Code passes the id of a call to the servers of the program. */
const callId = (meta: Json | undefined) => (meta as JsonObject | null | undefined)?.["claudecode/toolUseId"];

/** Makes a governed session usable by the Claude Agent SDK. */
export async function forClaudeAgent(
  governed: Governed,
  options: ClaudeAgentOptions = {},
): Promise<ClaudeAgentAdapter> {
  assertKnownFields("the options of forClaudeAgent", options, ["files"]);
  governed.expectLibrary({ name: "@anthropic-ai/claude-agent-sdk", tested: ["0.3"] }, "writ/claude-agent-sdk");
  const { files: resource } = options;
  const watched = { captureTool: "claude.files", mayChange: mayChangeFiles };
  const files = resource === undefined ? null : new FileCheckpoints(governed, { ...watched, resource });
  const record = await TranscriptRecord.open(governed, { name: "claude", recordTool: "claude.transcript", marksOf });
  const effectOf = (tool: string) => builtInTerms(tool)?.effect ?? governed.effectOf(tool);
  const calls = new CallsMadeAgain(governed, { name: "claude", effectOf }, await governed.run.turns());
  const hooks = new GovernedHooks(calls, new HostCalls(governed, calls, files));
  const servers = new Map<InProcessServer, GovernedServer>();
  const serverFor = (name: string, instance: InProcessServer): GovernedServer => {
    const toolName = (tool: string) => `mcp__${name}__${tool}`.replaceAll(/[^\w-]/gu, "_");
    const known = servers.get(instance) ?? new GovernedServer(instance, { governed, calls, toolName, callId });
    servers.set(instance, known);
    return known;
  };
  return {
    run: governed.run,
    resumed: record.hasBegun,
    options: <Options extends object>(own: Options) => {
      const given = own as QueryOptions;
      const signal = given.abortController?.signal;
      const mcpServers = Object.entries(given.mcpServers ?? {}).map(([name, config]) => {
        const { instance } = config as { readonly instance?: InProcessServer };
        if (instance === undefined) return [name, config] as const;
        return [name, { ...config, instance: serverFor(name, instance).forQuery(signal) }] as const;
      });
      const inProcess = new Set(mcpServers.flatMap(([name, config]) => ("instance" in config ? [name] : [])));
      const session = sessionOptions(given, record);
      hooks.transcript = "sessionStore" in session ? record : null;
      return {
        ...own,
        ...(mcpServers.length > 0 && { mcpServers: Object.fromEntries(mcpServers) }),
        hooks: hooks.with(given.hooks ?? {}, inProcess, signal),
        ...session,
      };
    },
    decide: (decision, who) => governed.decide([decision].flat(), who),
    checkpoint: async (id, side) => {
      if (files !== null) return files.find(id, side);
      throw new FaultError(fault("CHECKPOINT_NOT_FOUND", "no files are captured; name the resource: { files }"));
    },
    close: async (how?: CloseOptions) => {
      await record.close();
      return governed.close(how);
    },
  };
}

/** Returns the session options of a query. Empty: the program itself chooses the session of Claude, or stores none. */
function sessionOptions(given: QueryOptions, record: TranscriptRecord): object {
  const { resume, sessionId, continue: continues, persistSession, sessionStore } = given;
  const isOwn = [resume, sessionId, sessionStore].some((value) => value !== undefined);
  if (isOwn || continues === true || persistSession === false) return {};
  const session = record.hasBegun ? { resume: record.id } : { sessionId: record.id };
  return { ...session, sessionStore: record, sessionStoreFlush: "eager" };
}

/** Returns the ids in an entry of the transcript: the id of the entry, and the ids of its calls and results. */
function marksOf({ uuid, message }: JsonObject): readonly string[] {
  const content = isJsonObject(message ?? null) ? (message as JsonObject).content : null;
  const blocks = Array.isArray(content) ? (content as readonly JsonObject[]) : [];
  const marks = blocks.flatMap(({ type, id, tool_use_id }) =>
    type === "tool_use" || type === "tool_result" ? [`${type} ${String(id ?? tool_use_id)}`] : [],
  );
  return typeof uuid === "string" ? [uuid, ...marks] : marks;
}
