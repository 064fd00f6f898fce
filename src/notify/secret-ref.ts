import { readFileSync } from "node:fs";
import { isPlainObject } from "../core/json/plain-object.ts";
import { FaultError, fault } from "../core/values/fault.ts";

/** The place of a secret: a variable of the environment, or a file. A config never contains the secret itself. */
export type SecretRef = { readonly env: string } | { readonly file: string };

/** Returns whether a value is the place of a secret. */
export function isSecretRef(value: unknown): value is SecretRef {
  if (!isPlainObject(value)) return false;
  const [[name, place] = [], ...others] = Object.entries(value);
  return others.length === 0 && (name === "env" || name === "file") && typeof place === "string" && place !== "";
}

/** Reads a secret. Throws CONFIG_INVALID, with its place, if there is none. */
export function readSecret(ref: SecretRef, env: Readonly<Record<string, string | undefined>>): string {
  const [where, text] =
    "env" in ref ? [`the variable ${ref.env}`, env[ref.env]] : [`the file ${ref.file}`, textOf(ref)];
  if (text !== undefined && text.trim() !== "") return text.trim();
  throw new FaultError(fault("CONFIG_INVALID", `notify: ${where} has no secret; set it`));
}

function textOf({ file }: { readonly file: string }): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
