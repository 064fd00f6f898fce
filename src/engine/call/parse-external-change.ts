import { isPlainObject } from "../../core/json/plain-object.ts";
import { isWellFormed } from "../../core/json/well-formed-text.ts";
import { type ExternalChange, externalChangeFields } from "../../core/tool/external-change.ts";
import { type Fault, fault } from "../../core/values/fault.ts";

const TEXT_MAX = 1024;

/** Returns the change as it is recorded, or the fault of its form. A handler may not use TypeScript. */
export function parseExternalChange(given: unknown): ExternalChange | Fault {
  if (!isPlainObject(given)) return invalid("it is not an object");
  const unknown = Object.keys(given).find((name) => !externalChangeFields.includes(name as never));
  if (unknown !== undefined) return invalid(`it has no field ${unknown}`);
  const { type, id, operation, version, etag, ref } = given;
  const texts = { type, id, operation, version, etag, ref };
  for (const [name, value] of Object.entries(texts)) {
    const isRequired = name === "type" || name === "id" || name === "operation";
    if (value === undefined && !isRequired) continue;
    const isText = typeof value === "string" && value !== "" && value.length <= TEXT_MAX && isWellFormed(value);
    if (!isText) return invalid(`${name} is no text of 1 to ${TEXT_MAX} characters`);
  }
  return Object.fromEntries(
    Object.entries(texts).filter(([, value]) => value !== undefined),
  ) as unknown as ExternalChange;
}

function invalid(why: string): Fault {
  return fault("TOOL_FAILED", `a change that the tool recorded is invalid: ${why}`);
}
