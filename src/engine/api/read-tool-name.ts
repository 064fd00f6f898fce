import type { Tool } from "../../core/tool/tool.ts";
import { FaultError, fault } from "../../core/values/fault.ts";

/** Returns the name of the tool that a caller passes, or names. Throws INVALID_INPUT if it passes none. */
export function readToolName(tool: Tool | string | undefined): unknown {
  const name = typeof tool === "string" ? tool : tool?.name;
  if (name !== undefined) return name;
  const message = "the call was refused: the tool is missing; pass a tool made by defineTool, or its name";
  throw new FaultError(fault("INVALID_INPUT", message));
}
