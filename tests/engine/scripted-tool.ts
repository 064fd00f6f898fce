import type { Event } from "../../src/core/event/event.ts";
import type { Tool, ToolContext } from "../../src/core/tool/tool.ts";
import { type Fault, type FaultCode, FaultError, notDone } from "../../src/core/values/fault.ts";
import type { Json, JsonObject } from "../../src/core/values/json.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineTool, type ToolDefinition } from "../../src/schema/define-tool.ts";

const anything = {} as const;
const object = { type: "object" } as const;

type Definition = ToolDefinition<typeof object, typeof anything>;

interface RecordedCall {
  readonly input: JsonObject;
  readonly context: ToolContext;
}

/** The handler of a scripted tool. It may throw or never return. */
export type ToolBehaviour = (call: RecordedCall) => unknown;

export interface ScriptedTool {
  readonly tool: Tool;
  /** Everyone who called it, in order. */
  readonly calls: readonly RecordedCall[];
}

/** A tool that does what its script says, call by call; the last deed is repeated. It keeps count. */
export function scriptedTool(
  name: string,
  script: ToolBehaviour | readonly ToolBehaviour[],
  more: Partial<Omit<Definition, "name" | "run" | "input" | "output">> & { input?: object; output?: object } = {},
): ScriptedTool {
  const calls: RecordedCall[] = [];
  const deeds = Array.isArray(script) ? (script as readonly ToolBehaviour[]) : [script as ToolBehaviour];
  const definition: Definition = {
    effect: "acts",
    input: object,
    output: anything,
    ...(more as Partial<Definition>),
    name,
    run: async (input, context) => {
      const call = { input: input as JsonObject, context };
      calls.push(call);
      const deed = deeds[Math.min(calls.length, deeds.length) - 1] as ToolBehaviour;
      return (await deed(call)) as Json;
    },
  };
  return { tool: defineTool(definition), calls };
}

/** Never answers. */
export const neverAnswers: ToolBehaviour = () => new Promise(() => {});

/** A promise that the story keeps when it likes. */
export function deferred<Value>(): { readonly promise: Promise<Value>; keep(value: Value): void } {
  let keep: (value: Value) => void = () => {};
  const promise = new Promise<Value>((resolve) => {
    keep = resolve;
  });
  return { promise, keep };
}

/** Says that nothing happened, with this fault. */
export const throwsNotDone =
  (code: FaultCode): ToolBehaviour =>
  () => {
    throw notDone(code, `${code}, and nothing was done`);
  };

/** Throws this fault and says nothing about the world. */
export const throwsFault =
  (code: FaultCode): ToolBehaviour =>
  () => {
    throw new FaultError({ code, message: `thrown: ${code}` });
  };

/** The journal of a run so far. */
export async function collectJournal(run: RunHandle): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { event } of run.events()) events.push(event);
  return events;
}

export async function collectEvents<Type extends Event["type"]>(
  run: RunHandle,
  type: Type,
): Promise<readonly Extract<Event, { type: Type }>[]> {
  const events = await collectJournal(run);
  return events.filter((event): event is Extract<Event, { type: Type }> => event.type === type);
}

/** The fault that refused something. */
export async function rejectedFault(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => new Error("nothing was refused"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof FaultError) return error.fault;
  throw error;
}
