import type { Step } from "../../core/run/run.ts";
import { hostAwayFault } from "../../core/run/worker-requirements.ts";
import type { Tool, ToolContext } from "../../core/tool/tool.ts";
import { type Fault, fault } from "../../core/values/fault.ts";
import type { Json } from "../../core/values/json.ts";
import { type AsyncContext, emptyContext } from "../ports/async-context.ts";
import type { HostWork } from "./host-work.ts";

/** The function by which a caller runs one call itself. */
type CallerHandler = (input: Json, context: ToolContext) => unknown;

/** The context and the function that the proposer of a call gave with it. They are never stored. */
export interface CallerFunction {
  /** The asynchronous context of the proposal. */
  readonly within: AsyncContext;
  /** Null: the caller gave none, or no longer waits for the call. */
  readonly run: CallerHandler | null;
  /** The work that the host of the agent does itself. Null: it does none, or no longer waits to begin it. */
  readonly work: HostWork | null;
}

/** Returns the fault of a step that waits because the caller or host that does its work is not connected; else null. */
export function awayFault({ cause, spec }: Step, tool: Tool | undefined, given: CallerFunction | null): Fault | null {
  const handler = cause?.by === "agent" ? cause.handler : undefined;
  if ((handler === undefined && tool?.external !== true) || cause?.by === "undo") return null;
  if (given !== null && (given.run !== null || given.work !== null)) return null;
  if (handler !== "caller") return hostAwayFault(spec);
  const message = `${spec.step_id} is run by its caller, which does not wait for it now; it continues when the call is proposed again`;
  return fault("TOOL_AWAY", message);
}

/** Starts the handler of a step. A call of an agent runs in the context of its proposal, never in its approver's. */
export function runInContext<Result>({ cause }: Step, given: CallerFunction | null, start: () => Result): Result {
  return cause?.by === "agent" ? (given?.within ?? emptyContext)(start) : start();
}
