import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readEventStream } from "../../src/client/read-event-stream.ts";
import { planOf, type ServedEngine, serveEngine } from "./server-fixture.ts";

let served: ServedEngine;
let token: string;
beforeAll(async () => {
  served = await serveEngine();
  token = served.key({});
});
afterAll(() => served.close());

const open = (path: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(`${served.server.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });

/** Runs a plan of steps that do nothing, and returns its id and the number of its events. */
async function longRun(steps: number): Promise<{ readonly run_id: string; readonly events: number }> {
  const person = served.client();
  const plan = {
    steps: Array.from({ length: steps }, (_, at) => ({ step_id: `s${at}`, name: "text.echo", payload: { to: "x" } })),
  };
  const run = await person.submit(plan);
  await run.finished();
  let events = 0;
  for await (const { position } of run.events()) events = position;
  return { run_id: run.run_id, events };
}

/** Reads positions from a raw connection, and cuts it after some bytes. Only whole events count, as in a browser. */
function readUntilCut(
  run_id: string,
  after: number,
  cutAfterBytes: number,
): Promise<{ positions: number[]; ended: boolean }> {
  const { port } = served.server;
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    let text = "";
    const finish = () => {
      socket.destroy();
      // A small stream arrives in one piece, so the cut is made in the text.
      const received = text.slice(0, cutAfterBytes);
      const blocks = received.split("\n\n").slice(0, -1);
      const positions = blocks.flatMap((block) =>
        /event: event\r?\n/.test(block) ? [Number(/id: (\d+)/.exec(block)?.[1])] : [],
      );
      resolve({ positions, ended: /event: end\n|HTTP\/1.1 204/.test(received) });
    };
    socket.on("data", (part) => {
      // The lengths of chunks are lines of their own between the events.
      text += part
        .toString("utf8")
        .replaceAll(/(^|\r\n)[0-9a-f]+\r\n/g, "")
        .replaceAll("\r\n", "\n");
      if (text.length >= cutAfterBytes || /event: end|HTTP\/1.1 204/.test(text)) finish();
    });
    socket.once("error", reject).once("end", finish);
    const last = after === 0 ? "" : `Last-Event-ID: ${after}\r\n`;
    socket.write(
      `GET /v1/runs/${run_id}/stream HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAuthorization: Bearer ${token}\r\n${last}\r\n`,
    );
  });
}

describe("a stream", () => {
  it.each(["/v1/stream?lists=runs", "/v1/runs/{run_id}/stream"])("has no answer to HEAD: %s", async (path) => {
    const { run_id } = await longRun(1);
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await fetch(`${served.server.url}${path.replace("{run_id}", run_id)}`, {
      method: "HEAD",
      headers,
    });
    expect(status).toBe(404);
  });
});

describe("the stream of a run", () => {
  it("has no gap and no duplicate, however often the connection is cut", async () => {
    const { run_id, events } = await longRun(40);
    const cuts = Number(process.env.WRIT_SSE_CUTS ?? 150);
    // A linear congruential generator: the cuts of a failure can be repeated.
    let seed = 7;
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return seed % below;
    };
    let connections = 0;
    let passes = 0;
    for (let cut = 0; cut < cuts; passes += 1) {
      const seen: number[] = [];
      for (let ended = false; !ended; cut += 1) {
        const read = await readUntilCut(run_id, seen.at(-1) ?? 0, 600 + random(12_000));
        seen.push(...read.positions);
        ended = read.ended;
        connections += 1;
      }
      expect(seen).toEqual(Array.from({ length: events }, (_, at) => at + 1));
    }
    // Else nothing was cut, and the test would prove nothing.
    expect(connections).toBeGreaterThan(passes * 3);
  });

  it("says that it starts again if the journal does not have the position", async () => {
    const { run_id } = await longRun(1);
    const response = await open(`/v1/runs/${run_id}/stream`, { "last-event-id": "1000000" });
    const seen: string[] = [];
    for await (const { event, id } of readEventStream(response.body as ReadableStream<Uint8Array>))
      seen.push(`${event} ${id}`);
    expect(seen.slice(0, 2)).toEqual(["reset 0", "event 1"]);
  });

  it("starts again when retention has erased the events", async () => {
    const { run_id } = await longRun(1);
    const person = { id: "ana", kind: "person", tenant: "acme" } as const;
    const ended = Date.now();
    await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(ended);
    await served.engine.retain({ principal: person, endedBefore: Date.now() });
    const response = await open(`/v1/runs/${run_id}/stream`, { "last-event-id": "1" });
    const seen: string[] = [];
    for await (const { event } of readEventStream(response.body as ReadableStream<Uint8Array>)) seen.push(event);
    expect(seen).toEqual(["reset", "end"]);
  });

  it("is encoded so that no value can end an event", async () => {
    const person = served.client();
    const run = await person.submit(planOf('x\n\nevent: approved\ndata: {"forged":true}\n\n', "text.echo"));
    await run.finished();
    const response = await open(`/v1/runs/${run.run_id}/stream`);
    const events: string[] = [];
    for await (const { event } of readEventStream(response.body as ReadableStream<Uint8Array>)) events.push(event);
    expect(new Set(events)).toEqual(new Set(["event", "end"]));
  });
});

describe("the stream of a tab", () => {
  it("goes on for all of its runs when a client reads again after a pause", async () => {
    const person = served.client();
    const runs = await Promise.all(
      ["a", "b", "c"].map((name) =>
        person.submit({
          steps: Array.from({ length: 30 }, (_, at) => ({
            step_id: `s${at}`,
            name: "text.echo",
            payload: { to: name.repeat(50_000) },
          })),
        }),
      ),
    );
    await Promise.all(runs.map((run) => run.finished()));
    const socket = connect(served.server.port, "127.0.0.1");
    const path = `/v1/stream?runs=${runs.map(({ run_id }) => run_id).join(",")}`;
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${served.server.port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    let text = "";
    socket.on("data", (part) => {
      text += part;
      // Each pause lets the buffers of the server fill, so that all three runs wait for room.
      socket.pause();
      setTimeout(() => socket.resume(), 2);
    });
    const ends = () => text.split("event: end").length - 1;
    await expect.poll(ends, { timeout: 20_000 }).toBe(3);
    socket.destroy();
  });

  it("has the events of several runs, and resumes each of them by one id", async () => {
    const first = await longRun(3);
    const second = await longRun(5);
    const seen: Record<string, number[]> = { [first.run_id]: [], [second.run_id]: [] };
    let cursor: string | null = null;
    for (let ends = 0; ends < 2; ) {
      const headers: Record<string, string> = cursor === null ? {} : { "last-event-id": cursor };
      const stop = new AbortController();
      const response = await fetch(`${served.server.url}/v1/stream?runs=${first.run_id},${second.run_id}`, {
        headers: { authorization: `Bearer ${token}`, ...headers },
        signal: stop.signal,
      });
      let left = 3;
      ends = 0;
      try {
        for await (const { event, id, data } of readEventStream(response.body as ReadableStream<Uint8Array>)) {
          const { run_id, position } = JSON.parse(data) as { run_id: string; position: number };
          cursor = id ?? cursor;
          if (event === "end") ends += 1;
          else seen[run_id]?.push(position);
          left -= 1;
          if (left === 0 || ends === 2) break;
        }
      } finally {
        stop.abort();
      }
    }
    expect(seen[first.run_id]).toEqual(Array.from({ length: first.events }, (_, at) => at + 1));
    expect(seen[second.run_id]).toEqual(Array.from({ length: second.events }, (_, at) => at + 1));
  });

  it("hints that a list has changed", async () => {
    const person = served.client();
    const stop = new AbortController();
    const hints = person.changes({ signal: stop.signal })[Symbol.asyncIterator]();
    const hint = hints.next();
    const submitted = new Set<string>();
    let found: string | null = null;
    void hint.then(({ value }) => {
      found = (value as { readonly run_id: string }).run_id;
    });
    while (found === null) submitted.add((await person.call("text.echo", { to: "x" })).run_id);
    expect(submitted).toContain(found);
    stop.abort();
  });
});
