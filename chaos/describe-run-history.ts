import type { KillablePostgres } from "./killable-postgres.ts";
import type { RecordedCall, StoreHistory } from "./store-history.ts";

/** The numbers of last events and calls in a description. */
const MAX_EVENTS = 8;
const MAX_CALLS = 12;

/** Describes an unfinished run from the store and the history, because the database is removed after the test. */
export async function describeRunHistory(
  server: KillablePostgres,
  { calls }: Pick<StoreHistory, "calls">,
  run: string,
): Promise<string> {
  const [stored] = await server.rows<readonly [object]>(stateQuery, [run]);
  const about = calls.filter((call) => isCallAbout(call, run));
  const lines = about.slice(-MAX_CALLS).map((call) => formatCall(call, run));
  return `${JSON.stringify(stored?.[0])}\n${lines.map((line) => `    ${line}`).join("\n")}`;
}

const stateQuery = `select json_build_object(
  'head', (select json_build_object('position', h.position, 'epoch', h.epoch) from writ.head h where h.run = $1),
  'timer', (select r.row::json from writ.rows r where r.kind = 'timer' and r.key = $1),
  'due', (select json_build_object('in_ms', d.at - writ.now_ms(), 'queue', d.queue, 'rank', d.rank) from writ.due d where d.run = $1),
  'needs', (select json_agg(n.need) from writ.need n where n.run = $1),
  'lease', (select json_build_object('worker', l.worker, 'epoch', l.epoch, 'left_ms', l.until - writ.now_ms(), 'prior', l.prior)
            from writ.lease l where l.run = $1),
  'status', (select r.row::json ->> 'status' from writ.rows r where r.kind = 'run' and r.key = $1),
  'notices', (select json_agg(r.key) from writ.rows r where r.kind = 'notice' and r.row::json ->> 'run_id' = $1),
  'last', (select json_agg(concat_ws(' ', e.type, e.body::json ->> 'step_id') order by e.position) from (
             select * from writ.event v where v.run = $1 order by v.position desc limit ${MAX_EVENTS}) e))`;

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
