import { FaultError, fault } from "../core/values/fault.ts";
import { HttpFault } from "./problem.ts";
import type { RouteAnswer, RouteCall, ServerRoute } from "./server-route.ts";

/** Returns the entity tag of a version. */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/** Returns whether the header `If-None-Match` names the tag. */
export function isKnown(header: string | null, tag: string): boolean {
  const known = (header ?? "").split(",").map((one) => one.trim().replace(/^W\//, ""));
  return known.includes("*") || known.includes(tag);
}

/**
 * Answers a call with the version of the header `If-Match` as its argument. A version that was replaced is answered with
 * 412. A route without versions refuses the header: the client would rely on a check that is not made.
 */
export async function answerIfMatch(
  { ifMatch, handler }: Pick<ServerRoute, "ifMatch" | "handler">,
  call: RouteCall,
  header: string | null,
): Promise<RouteAnswer> {
  if (header === null) return handler(call);
  const version = /^"(\d{1,15})"$/.exec(header)?.[1];
  if (ifMatch === undefined) throw refused("this route compares no versions; send the request without If-Match");
  if (version === undefined) throw refused('If-Match must be the ETag of one version, such as "3"');
  if (ifMatch in call.input) throw refused(`send either If-Match or ${ifMatch}`);
  try {
    return await handler({ ...call, input: { ...call.input, [ifMatch]: Number(version) } });
  } catch (error) {
    if (error instanceof FaultError && error.fault.code === "NOT_POSSIBLE") throw new HttpFault(412, error.fault);
    throw error;
  }
}

function refused(message: string): FaultError {
  return new FaultError(fault("INVALID_INPUT", message));
}
