import type { Event } from "../../src/core/event.ts";
import { type Fault, type FaultCode, FaultError, notDone } from "../../src/core/fault.ts";
import type { Json, JsonObject } from "../../src/core/json/json.ts";
import type { Tool, ToolContext } from "../../src/core/tool.ts";
import type { RunHandle } from "../../src/engine/api.ts";
import { defineTool, type ToolDefinition } from "../../src/schema/define-tool.ts";

const anything = {} as const;
const object = { type: "object" } as const;

type Definition = ToolDefinition<typeof object, typeof anything>;

interface Call {
  readonly input: JsonObject;
  readonly context: ToolContext;
}

/** What a tool does when it is called; throwing and never answering are allowed. */
export type Deed = (call: Call) => unknown;

export interface Actor {
  readonly tool: Tool;
  /** Everyone who called it, in order. */
  readonly calls: readonly Call[];
}

/** A tool that does what its script says, call by call; the last deed is repeated. It keeps count. */
export function actor(
  name: string,
  script: Deed | readonly Deed[],
  more: Partial<Omit<Definition, "name" | "run" | "input" | "output">> & { input?: object; output?: object } = {},
): Actor {
  const calls: Call[] = [];
  const deeds = Array.isArray(script) ? (script as readonly Deed[]) : [script as Deed];
  const definition: Definition = {
    effect: "acts",
    input: object,
    output: anything,
    ...(more as Partial<Definition>),
    name,
    run: async (input, context) => {
      const call = { input: input as JsonObject, context };
      calls.push(call);
      const deed = deeds[Math.min(calls.length, deeds.length) - 1] as Deed;
      return (await deed(call)) as Json;
    },
  };
  return { tool: defineTool(definition), calls };
}

/** Never answers. */
export const hang: Deed = () => new Promise(() => {});

/** A promise that the story keeps when it likes. */
export function promised<Value>(): { readonly promise: Promise<Value>; keep(value: Value): void } {
  let keep: (value: Value) => void = () => {};
  const promise = new Promise<Value>((resolve) => {
    keep = resolve;
  });
  return { promise, keep };
}

/** Says that nothing happened, with this fault. */
export const says =
  (code: FaultCode): Deed =>
  () => {
    throw notDone(code, `${code}, and nothing was done`);
  };

/** Throws this fault and says nothing about the world. */
export const throws =
  (code: FaultCode): Deed =>
  () => {
    throw new FaultError({ code, message: `thrown: ${code}` });
  };

/** The journal of a run so far. */
export async function journalOf(run: RunHandle): Promise<readonly Event[]> {
  const events: Event[] = [];
  for await (const { event } of run.events()) events.push(event);
  return events;
}

export async function eventsOf<Type extends Event["type"]>(
  run: RunHandle,
  type: Type,
): Promise<readonly Extract<Event, { type: Type }>[]> {
  const events = await journalOf(run);
  return events.filter((event): event is Extract<Event, { type: Type }> => event.type === type);
}

/** The fault that refused something. */
export async function faultOf(work: Promise<unknown>): Promise<Fault> {
  const error = await work.then(
    () => new Error("nothing was refused"),
    (thrown: unknown) => thrown,
  );
  if (error instanceof FaultError) return error.fault;
  throw error;
}
