import { get, type IncomingMessage } from "node:http";
import type { RemoteSession } from "../../src/client/remote-session.ts";
import type { Measurement } from "../measurement.ts";
import { type ApiProcess, withApiProcess } from "./api-process.ts";

const reconnects = 10_000;
const readers = 8;
const callsInRun = 400;
const mostBytes = 12_000;

/** Counts the events of a run that readers miss or get twice when their connections are cut at random bytes. */
export function streamCuts(id: string): Measurement {
  return {
    id,
    about: `${reconnects} connections to the streams of ${readers} runs, cut at random bytes, while the runs go on: events that were missing or came twice`,
    limitAbout: "the events that were read",
    unit: "events",
    goal: { of: "value", atMost: 0 },
    maxRounds: 1,
    round: () =>
      withApiProcess(async (server) => {
        const each = Array.from({ length: readers }, (_, reader) => readWithCuts(server, reader));
        const counts = await Promise.all(each);
        const value = counts.reduce((sum, { wrong }) => sum + wrong, 0);
        const limit = counts.reduce((sum, { read }) => sum + read, 0);
        return { value, limit, ratio: value / limit };
      }),
  };
}

interface ReadCounts {
  readonly wrong: number;
  readonly read: number;
}

/** Reads the stream of a run again and again. The first time, an agent makes the calls of the run meanwhile. */
async function readWithCuts(server: ApiProcess, reader: number): Promise<ReadCounts> {
  const run = await server.client.openRun({ session: `reader-${reader}` });
  const work = callInTurn(server, run);
  const random = randomFrom(reader + 1);
  let position = 0;
  let wrong = 0;
  let read = 0;
  for (let connection = 0; connection < reconnects / readers; connection += 1) {
    const { positions, ended } = await readUntilCut(server, run.run_id, position, 1 + random(mostBytes));
    for (const next of positions) {
      wrong += Math.abs(next - position - 1);
      position = next;
    }
    read += positions.length;
    if (!ended) continue;
    const last = await work;
    wrong += Math.abs(last - position);
    position = 0;
  }
  await work;
  return { wrong, read };
}

/** Makes the calls of a run one by one and closes it. Returns the position of its last event. */
async function callInTurn({ client }: ApiProcess, run: RemoteSession): Promise<number> {
  for (let n = 0; n < callsInRun; n += 1) await run.callTool({ id: `c${n}`, tool: "bench.reads", input: { n } });
  await run.close({ as: "completed" });
  let last = 0;
  for await (const { position } of (await client.run(run.run_id)).events()) last = position;
  return last;
}

interface CutRead {
  readonly positions: readonly number[];
  /** True if the stream has ended, so that there is nothing to reconnect for. */
  readonly ended: boolean;
}

/** Reads a stream and cuts its connection after some bytes. Half an event does not count, as in a browser. */
function readUntilCut({ url, token }: ApiProcess, run: string, after: number, bytes: number): Promise<CutRead> {
  const last = after === 0 ? {} : { "last-event-id": String(after) };
  const headers = { authorization: `Bearer ${token}`, ...last };
  return new Promise((resolve, reject) => {
    const request = get(`${url}/v1/runs/${run}/stream`, { headers, agent: false }, (response: IncomingMessage) => {
      let text = "";
      const finish = () => {
        request.destroy();
        resolve(parseStream(text.slice(0, bytes), response.statusCode === 204));
      };
      response.setEncoding("utf8");
      response.on("data", (part: string) => {
        text += part;
        if (text.length >= bytes) finish();
      });
      response.once("end", finish).once("error", () => {});
    });
    request.once("error", reject);
  });
}

function parseStream(text: string, isOver: boolean): CutRead {
  const blocks = text.split("\n\n").slice(0, -1);
  const positions = blocks.flatMap((block) => {
    if (/^event: (problem|reset)$/m.test(block)) throw new Error(`the stream says ${block}`);
    return /^event: event$/m.test(block) ? [Number(/^id: (\d+)$/m.exec(block)?.[1])] : [];
  });
  return { positions, ended: isOver || blocks.some((block) => /^event: end$/m.test(block)) };
}

/** A linear congruential generator, so that the cuts can be repeated. */
function randomFrom(start: number): (below: number) => number {
  let seed = start;
  return (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * below);
  };
}
