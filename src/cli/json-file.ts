import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import type { Readable } from "node:stream";
import { parseStrictJson } from "../core/json/strict-json.ts";
import { planLimits } from "../core/plan/plan.ts";
import { type FaultCode, FaultError, fault } from "../core/values/fault.ts";
import { isJsonObject, type Json, type JsonObject } from "../core/values/json.ts";
import type { ProgramProcess } from "./program-process.ts";

/** Larger than the limit of the content, because a formatted file contains spaces. */
const fileBytesMax = 4 * planLimits.bytes;

/** Reads a plan strictly: a duplicate key and a number that would lose precision are refused. The path - is stdin. */
export async function readPlanFile(path: string, { cwd, stdin }: Pick<ProgramProcess, "cwd" | "stdin">): Promise<Json> {
  if (path === "-") return parseJsonText(await readStream(stdin, "PLAN_INVALID"), "PLAN_INVALID", "stdin");
  return parseJsonText(await readText(resolve(cwd, path), "PLAN_INVALID"), "PLAN_INVALID", path);
}

/** Reads a policy or a table of test cases as strictly as a plan. */
export async function readPolicyFile(path: string, cwd: string): Promise<Json> {
  return parseJsonText(await readText(resolve(cwd, path), "POLICY_INVALID"), "POLICY_INVALID", path);
}

/** Reads the file that names the MCP servers of a gateway. */
export async function readServersFile(path: string): Promise<Json> {
  return parseJsonText(await readText(path, "CONFIG_INVALID"), "CONFIG_INVALID", path);
}

/** Reads the value of `--context`: JSON, or the path of a JSON file. */
export async function readContext(given: string, cwd: string): Promise<JsonObject> {
  const inline = given.trimStart().startsWith("{");
  const value = inline
    ? parseJsonText(given, "INVALID_INPUT", "--context")
    : parseJsonText(await readText(resolve(cwd, given), "INVALID_INPUT"), "INVALID_INPUT", given);
  if (isJsonObject(value)) return value;
  throw new FaultError(fault("INVALID_INPUT", `the context in ${given} is not an object; write {"name": value}`));
}

export function readInline(given: string, option: string): Json {
  return parseJsonText(given, "INVALID_INPUT", option);
}

function parseJsonText(text: string, code: FaultCode, where: string): Json {
  const read = parseStrictJson(text, planLimits);
  if (read.ok) return read.value;
  const list = read.reasons.map(({ path, message }) => `${path || "/"}: ${message}`);
  const reasons = read.reasons.map(({ path, message }) => ({ path, message }));
  throw new FaultError(fault(code, `${where} is not JSON that can be used: ${list.join("; ")}`, { reasons }));
}

async function readStream(stdin: Readable, code: FaultCode): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > fileBytesMax) throw unreadableFault(code, "stdin", tooLargeText);
    chunks.push(bytes);
  }
  return decodeText(Buffer.concat(chunks), code, "stdin");
}

function unreadableFault(code: FaultCode, where: string, why: string, cause?: unknown): FaultError {
  return new FaultError(fault(code, `${where}: ${why}`), { cause });
}

const tooLargeText = `larger than ${fileBytesMax} bytes; split it`;

async function readText(path: string, code: FaultCode): Promise<string> {
  const refuse = (why: string, cause?: unknown) => unreadableFault(code, path, why, cause);
  let bytes: Uint8Array;
  try {
    if ((await stat(path)).size > fileBytesMax) throw refuse(tooLargeText);
    bytes = await readFile(path);
  } catch (error) {
    if (error instanceof FaultError) throw error;
    throw refuse(readErrorTexts[errorCode(error)] ?? `it cannot be read (${errorCode(error)})`, error);
  }
  return decodeText(bytes, code, path);
}

function decodeText(bytes: Uint8Array, code: FaultCode, where: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw unreadableFault(code, where, "it is not UTF-8; save it as UTF-8", error);
  }
}

const readErrorTexts: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "it is a directory; give the path of a file",
  EACCES: "this user may not read it; change its permissions",
};

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
