import type { StoredTables } from "./chaos-store.ts";
import type { RecordedCall, StoreHistory } from "./store-history.ts";

/** The number of last calls in a description. */
const MAX_CALLS = 12;

/** Describes an unfinished run from the store and the history, because the store is removed after the test. */
export async function describeRunHistory(
  store: StoredTables,
  { calls }: Pick<StoreHistory, "calls">,
  run: string,
): Promise<string> {
  const about = calls.filter((call) => isCallAbout(call, run));
  const lines = about.slice(-MAX_CALLS).map((call) => formatCall(call, run));
  return `${await store.describeRun(run)}\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

function isCallAbout({ request, reply }: RecordedCall, run: string): boolean {
  switch (request.do) {
    case "append":
      return request.run === run;
    case "claim":
      return (
        request.run === run ||
        (reply !== null && "granted" in reply && reply.granted.some(([granted]) => granted === run))
      );
    case "renew":
      return request.claims.some(([held]) => held === run);
    case "release":
    case "mark":
      return request.claim[0] === run;
  }
}

/** Formats a call without its parts about other runs. */
function formatCall({ by, request, reply, from }: RecordedCall, run: string): string {
  const ownOnly = (_key: string, value: unknown): unknown =>
    Array.isArray(value) && Array.isArray(value[0]) ? value.filter(([name]) => name === run) : value;
  return `${from}: ${by} ${JSON.stringify(request, ownOnly)} -> ${JSON.stringify(reply, ownOnly)}`;
}
