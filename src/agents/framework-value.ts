import { type CallAnswer, modelText } from "../core/run/call-answer.ts";
import { FaultError } from "../core/values/fault.ts";
import { isJsonObject, type Json } from "../core/values/json.ts";

/** The value that a framework receives instead of the output of a tool while the call is held or waits. */
export interface PendingOutput {
  readonly writ: "held" | "waiting";
  /** The gate that a person decides, and the digest of the exact call that it holds. */
  readonly gate_id?: string;
  readonly digest?: string;
  /** The text for the model. */
  readonly message: string;
}

/** Returns the value for a framework that takes values: the output, or what the call waits for. Else throws the text. */
export function frameworkValue(answer: CallAnswer): Json {
  const { text } = modelText(answer);
  switch (answer.status) {
    case "succeeded":
      return answer.output;
    case "held": {
      const { gate_id, digest } = answer.gate;
      return { writ: "held", gate_id, digest, message: text };
    }
    case "waiting":
      return { writ: "waiting", message: text };
    case "cancelled":
      throw new Error(text);
    default:
      throw new Error(text, { cause: new FaultError(answer.fault) });
  }
}

export function isPendingOutput(value: unknown): value is PendingOutput {
  if (!isJsonObject(value as Json)) return false;
  const { writ, message } = value as Partial<PendingOutput>;
  return (writ === "held" || writ === "waiting") && typeof message === "string";
}
