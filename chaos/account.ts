import type { Call, History } from "./history.ts";
import type { Server } from "./server.ts";

/** So much is told of each: the end of it says why it goes no further. */
const eventsMost = 8;
const callsMost = 12;

/** All that the store and the history know of a run that should be over: whoever reads it has no database to look into. */
export async function accountOf(server: Server, { calls }: Pick<History, "calls">, run: string): Promise<string> {
  const [stored] = await server.rows<readonly [object]>(stateQuery, [run]);
  const about = calls.filter((call) => isAbout(call, run));
  const told = about.slice(-callsMost).map((call) => lineOf(call, run));
  return `${JSON.stringify(stored?.[0])}\n${told.map((line) => `    ${line}`).join("\n")}`;
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
             select * from writ.event v where v.run = $1 order by v.position desc limit ${eventsMost}) e))`;

function isAbout({ asked, heard }: Call, run: string): boolean {
  switch (asked.do) {
    case "append":
      return asked.run === run;
    case "claim":
      return asked.run === run || (heard !== null && "given" in heard && heard.given.some(([given]) => given === run));
    case "renew":
      return asked.rights.some(([held]) => held === run);
    case "release":
    case "mark":
      return asked.right[0] === run;
  }
}

/** Without what is said of other runs. */
function lineOf({ by, asked, heard, from }: Call, run: string): string {
  const mine = (_key: string, value: unknown): unknown =>
    Array.isArray(value) && Array.isArray(value[0]) ? value.filter(([name]) => name === run) : value;
  return `${from}: ${by} ${JSON.stringify(asked, mine)} -> ${JSON.stringify(heard, mine)}`;
}
