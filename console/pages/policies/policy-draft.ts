import { useEffect, useState } from "preact/hooks";
import type { Json, JsonObject } from "../../../src/core/values/json.ts";
import type { PolicyVersion } from "../../../src/engine/api/policy-api.ts";
import { callRoute } from "../../api/call-route.ts";
import { type ApiProblem, toProblem } from "../../api/problem.ts";
import { readJson } from "../../components/json-field.tsx";

/** The name and scope of a policy. */
export interface PolicyPlace {
  readonly name: string;
  readonly project: string | null;
  readonly session: string | null;
}

/** A policy under edit: the text, and what the server says about it. */
export interface PolicyDraft {
  readonly text: string;
  setText(text: string): void;
  /** Null: the text is not JSON. */
  readonly document: Json | null;
  /** The problems that the server found, each with its place in the document. */
  readonly problems: readonly string[];
  readonly isChecking: boolean;
}

const checkAfterMs = 350;

/** Keeps a draft of a policy, and has the server check it shortly after the last change. */
export function usePolicyDraft(start: string): PolicyDraft {
  const [text, setText] = useState(start);
  const [checked, setChecked] = useState<{ readonly of: string; readonly problems: readonly string[] } | null>(null);
  const read = readJson(text);
  useEffect(() => {
    if (!read.ok) return;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      const problems = await problemsOf(read.value, stop.signal);
      if (!stop.signal.aborted) setChecked({ of: text, problems });
    }, checkAfterMs);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [text]);
  const isOfText = checked?.of === text;
  return {
    text,
    setText,
    document: read.ok ? read.value : null,
    problems: isOfText ? checked.problems : [],
    isChecking: read.ok && !isOfText,
  };
}

/** A test without calls checks the document. */
async function problemsOf(document: Json, signal: AbortSignal): Promise<readonly string[]> {
  try {
    await callRoute("policies.test", { document }, signal);
    return [];
  } catch (error) {
    return signal.aborted ? [] : reasonsOf(toProblem(error));
  }
}

/** Returns all reasons of a refused policy. */
export function reasonsOf({ details, message }: Pick<ApiProblem, "details" | "message">): readonly string[] {
  const reasons = (details as { readonly reasons?: unknown } | null | undefined)?.reasons;
  return Array.isArray(reasons) ? reasons.map(String) : [message];
}

/** Returns a new policy to begin with. */
export function newPolicy(tenant: string): JsonObject {
  return {
    schema_version: "1.0",
    name: "house-rules",
    scope: { tenant },
    rules: [
      {
        id: "ask-before-mail",
        kind: "approval",
        on: { tools: ["mail.*"] },
        reason: "A person reads every mail before it is sent",
      },
    ],
  };
}

export function policyText(document: Json): string {
  return JSON.stringify(document, null, 2);
}

/** Returns the place that a document names. */
export function placeOf(document: JsonObject): PolicyPlace {
  const scope = (document.scope ?? {}) as JsonObject;
  const textOf = (value: Json | undefined) => (typeof value === "string" ? value : null);
  return { name: String(document.name), project: textOf(scope.project), session: textOf(scope.session) };
}

/** Returns the fields of a request about a place. */
export function placeFields({ name, project, session }: PolicyPlace) {
  return { name, ...(project !== null && { project }), ...(session !== null && { session }) };
}

export function isSamePlace(one: PolicyPlace, other: PolicyPlace): boolean {
  return one.name === other.name && one.project === other.project && one.session === other.session;
}

/** Reads the stored version of a place. Null: there is none. */
export async function storedVersion(place: PolicyPlace): Promise<PolicyVersion | null> {
  try {
    return await callRoute("policies.get", placeFields(place));
  } catch (error) {
    if (toProblem(error).code === "NOT_POSSIBLE") return null;
    throw error;
  }
}
