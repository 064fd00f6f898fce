import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpCaller } from "../../src/client/http-caller.ts";
import { type ServedEngine, serveEngine } from "./server-fixture.ts";

const bot = { id: "bot", kind: "agent" } as const;
const request = { model: "m", messages: [{ role: "user", content: "hello" }] };
const said = { role: "assistant", content: "hi" };

let served: ServedEngine;
let caller: HttpCaller;
let session_id: string;
beforeEach(async () => {
  served = await serveEngine();
  caller = new HttpCaller({ url: served.server.url, token: served.key(bot) });
  session_id = await open();
});
afterEach(() => served.close());

const open = async (): Promise<string> => {
  const { body } = await caller.call("openRun", { session: "chat" });
  return (body as { readonly session_id: string }).session_id;
};
const ask = async () => (await caller.call("openRun.recordModelCall", { session_id, request })).body;
const answer = async (token: unknown, given: object) =>
  (await caller.call("openRun.answerModelCall", { session_id, token, ...given })).body;

describe("a request to a model whose agent has died before it had an answer", () => {
  it("gets the same token when the agent opens the session again, and its answer is recorded once", async () => {
    const begun = await ask();
    await open();
    expect(await ask()).toEqual(begun);
    const { token } = begun as { readonly token: string };
    expect(await answer(token, { answer: said })).toMatchObject({ content: { json: said }, replayed: false });
  });

  it("can be asked again after it failed", async () => {
    const { token } = (await ask()) as { readonly token: string };
    await expect(answer(token, { failed: "no credit" })).rejects.toThrow("no credit");
    expect(await ask()).toMatchObject({ go: true, token: expect.not.stringContaining(token) });
  });
});

describe("a request to a model that the same agent sends twice at once", () => {
  it("is asked once: the second waits for the answer of the first", async () => {
    const { token } = (await ask()) as { readonly token: string };
    const second = ask();
    const [first] = await Promise.all([answer(token, { answer: said }), second]);
    expect(await second).toMatchObject({ step_id: (first as { step_id: string }).step_id, content: { json: said } });
  });
});
