import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type FaultCode, FaultError, fault } from "../core/fault.ts";
import { isObject, type Json, type JsonObject } from "../core/json/json.ts";
import { parseStrict } from "../core/json/strict-json.ts";
import { planLimits } from "../core/plan/plan.ts";

/** Room for the spaces of a file that is laid out for people; what is in it has its own limit. */
const fileBytesMax = 4 * planLimits.bytes;

/** Reads a plan's file as strictly as a request: duplicate keys and numbers that would change are refused. */
export async function readPlanFile(path: string, cwd: string): Promise<Json> {
  return parsed(await textOf(resolve(cwd, path), "PLAN_INVALID"), "PLAN_INVALID", path);
}

/** Reads a policy, or cases to try one with, as strictly as a plan. */
export async function readPolicyFile(path: string, cwd: string): Promise<Json> {
  return parsed(await textOf(resolve(cwd, path), "POLICY_INVALID"), "POLICY_INVALID", path);
}

/** Reads what `--context` says: JSON as such, or the name of a file with it. */
export async function readContext(given: string, cwd: string): Promise<JsonObject> {
  const inline = given.trimStart().startsWith("{");
  const value = inline
    ? parsed(given, "INVALID_INPUT", "--context")
    : parsed(await textOf(resolve(cwd, given), "INVALID_INPUT"), "INVALID_INPUT", given);
  if (isObject(value)) return value;
  throw new FaultError(fault("INVALID_INPUT", `the context in ${given} is not an object; write {"name": value}`));
}

export function readInline(given: string, option: string): Json {
  return parsed(given, "INVALID_INPUT", option);
}

function parsed(text: string, code: FaultCode, where: string): Json {
  const read = parseStrict(text, planLimits);
  if (read.ok) return read.value;
  const list = read.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const reasons = read.reasons.map(({ path, message }) => ({ path, message }));
  throw new FaultError(fault(code, `${where} is not JSON that can be used: ${list.join("; ")}`, { reasons }));
}

async function textOf(path: string, code: FaultCode): Promise<string> {
  const refuse = (why: string, cause?: unknown) => new FaultError(fault(code, `${path}: ${why}`), { cause });
  let bytes: Uint8Array;
  try {
    if ((await stat(path)).size > fileBytesMax) throw refuse(`larger than ${fileBytesMax} bytes; split it`);
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof FaultError) throw error;
    throw refuse(unreadable[codeOf(error)] ?? `it cannot be read (${codeOf(error)})`, error);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse("it is not UTF-8; save it as UTF-8", error);
  }
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "it is a directory; give the path of a file",
  EACCES: "this user may not read it; change its permissions",
};

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
