import { hash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import type { RunResult } from "../../src/core/run/run-result.ts";
import type { Tool } from "../../src/core/tool/tool.ts";
import type { RunHandle } from "../../src/engine/api/engine-api.ts";
import { defineTool } from "../../src/schema/define-tool.ts";
import { maildir } from "../../src/verifiers/maildir.ts";
import { messageIdFor, seenByMessageId } from "../../src/verifiers/seen-by-message-id.ts";
import { seenFile } from "../../src/verifiers/seen-file.ts";
import { anaPerson, botAgent, type EngineFixture, storeKinds } from "./engine-fixture.ts";
import { type MailServer, startMailServer } from "./mail-server.ts";
import { collectEvents } from "./scripted-tool.ts";

const domain = "example.org";
const plan = { steps: [{ step_id: "send", name: "mail.send", payload: { to: "ana@example.org", body: "Welcome." } }] };

/** The tool a user would write: it sends under a Message-ID made from its key, and looks for that when in doubt. */
function mailTool(office: MailServer, more: { readonly timeoutMs?: number; readonly settleAfter?: number } = {}): Tool {
  return defineTool({
    name: "mail.send",
    effect: "acts",
    input: z.object({ to: z.string(), body: z.string() }),
    output: z.object({ message_id: z.string() }),
    ...more,
    run: async ({ to, body }, { key }) => {
      const messageId = messageIdFor(key, domain);
      await office.send({ to, text: body, messageId });
      return { message_id: messageId };
    },
    verify: seenByMessageId({ search: maildir(office.mailbox), domain }),
  });
}

/** Real sockets and files take real turns; the story waits for them, not for a clock. */
async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setImmediate(resolve));
}

/** Time passes only while the run rests: sockets and files must not be late by a clock that is not theirs. */
async function endOf(stage: EngineFixture, run: RunHandle): Promise<RunResult> {
  for (;;) {
    const result = await run.result();
    if (result.final) return result;
    const until = result.blocked_on[0]?.until ?? 0;
    await stage.advance(Math.max(100, until - stage.clock.now()));
  }
}

describe.each(storeKinds)("mail with a verifier, on $name", ({ newFixture: newStage }) => {
  it("is sent once when nothing fails", async () => {
    const office = await startMailServer();
    const engine = await newStage().open({ tools: [mailTool(office)] });
    const run = await engine.submit(plan, { principal: botAgent });
    expect((await run.result()).status).toBe("completed");
    expect(office.mails()).toHaveLength(1);
    const [started] = await collectEvents(run, "step.started");
    expect(office.mails()[0]).toContain(messageIdFor(started?.call.key as string, domain));
  });

  it("that was delivered though its worker died is found by its Message-ID, and is sent once", async () => {
    const office = await startMailServer();
    const stage = newStage();
    office.onDelivery = async (deliver) => {
      deliver();
      await stage.crash();
    };
    const first = await stage.open({ tools: [mailTool(office)] });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await until(() => office.mails().length === 1);
    const second = await stage.open({ tools: [mailTool(office)] });
    const run = await second.run(run_id, { principal: botAgent });
    const result = await endOf(stage, run);
    expect(result).toMatchObject({
      status: "completed",
      steps: { send: { state: "succeeded", output: { message_id: expect.stringContaining("@example.org>") } } },
    });
    expect(office.mails()).toHaveLength(1);
    expect(await collectEvents(run, "step.settled")).toMatchObject([{ by: "verifier", settled: { as: "happened" } }]);
  });

  it("that was accepted without an answer is found after its timeout", async () => {
    const office = await startMailServer();
    const stage = newStage();
    let isThere = false;
    office.onDelivery = (deliver) => {
      deliver();
      isThere = true;
      return new Promise(() => {});
    };
    const first = await stage.open({ tools: [mailTool(office, { timeoutMs: 1000 })] });
    const { run_id } = await first.submit(plan, { principal: botAgent });
    await until(() => isThere);
    await stage.advance(1000);
    await stage.crash(); // While the handler hangs here, nothing is settled behind its back.
    const second = await stage.open({ tools: [mailTool(office)] });
    expect((await endOf(stage, await second.run(run_id, { principal: botAgent }))).status).toBe("completed");
    expect(office.mails()).toHaveLength(1);
  });

  it("that is absent twice is sent again under the same Message-ID", async () => {
    const office = await startMailServer();
    const stage = newStage();
    let asked = 0;
    office.onDelivery = async (deliver) => {
      asked += 1;
      if (asked === 1) throw new Error("451 try again later");
      deliver();
    };
    const engine = await stage.open({ tools: [mailTool(office, { settleAfter: 1000 })] });
    const run = await engine.submit(plan, { principal: botAgent });
    const result = await endOf(stage, run);
    expect(result.status).toBe("completed");
    expect(office.mails()).toHaveLength(1);
    expect(await collectEvents(run, "step.probed")).toMatchObject([{ saw: "absent" }]);
    expect(await collectEvents(run, "step.settled")).toMatchObject([{ by: "verifier", settled: { as: "absent" } }]);
    expect(asked).toBe(2);
  });

  it("stays in doubt when the mailbox cannot be searched, until a person resolves it", async () => {
    const office = await startMailServer();
    const stage = newStage();
    const broken = { ...office, mailbox: join(office.mailbox, "gone") };
    office.onDelivery = async (deliver) => {
      deliver();
      throw new Error("451 confused");
    };
    const engine = await stage.open({ tools: [mailTool(broken)] });
    const run = await engine.submit(plan, { principal: botAgent });
    const result = await run.result();
    expect(result).toMatchObject({ final: false, blocked_on: [{ reason_code: "IN_DOUBT" }] });
    expect(await collectEvents(run, "step.probed")).toMatchObject([
      { saw: "unknown", why: expect.stringContaining("ENOENT") },
    ]);
    await engine.resolve(run.run_id, "send", {
      principal: anaPerson,
      as: "happened",
      output: { message_id: "<seen@by.ana>" },
    });
    expect((await run.result()).status).toBe("completed");
    expect(office.mails()).toHaveLength(1);
  });
});

describe.each(storeKinds)("file with a verifier, on $name", ({ newFixture: newStage }) => {
  function writing(fate: (write: () => void) => void) {
    const root = mkdtempSync(join(tmpdir(), "writ-written-"));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const input = z.object({ path: z.string(), text: z.string() });
    const tool = defineTool({
      name: "file.write",
      effect: "acts",
      input,
      output: z.object({ path: z.string(), sha256: z.string() }),
      settleAfter: 1000,
      run: ({ path, text }) => {
        fate(() => writeFileSync(join(root, path), text));
        return { path, sha256: hash("sha256", text) };
      },
      verify: seenFile<z.infer<typeof input>>({ root, path: ({ path }) => path, content: ({ text }) => text }),
    });
    return { root, tool };
  }
  const steps = [{ step_id: "write", name: "file.write", payload: { path: "note.md", text: "hello" } }];

  it("that was written before its worker failed is found by its content", async () => {
    const { root, tool } = writing((write) => {
      write();
      throw new Error("lost the connection");
    });
    const engine = await newStage().open({ tools: [tool] });
    const run = await engine.submit({ steps }, { principal: botAgent });
    const result = await run.result();
    expect(result).toMatchObject({ status: "completed", steps: { write: { output: { path: "note.md" } } } });
    expect(readFileSync(join(root, "note.md"), "utf8")).toBe("hello");
  });

  it("with another content is left to a person", async () => {
    const { root, tool } = writing(() => {
      throw new Error("lost the connection");
    });
    writeFileSync(join(root, "note.md"), "someone else's");
    const engine = await newStage().open({ tools: [tool] });
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect(await run.result()).toMatchObject({ final: false, steps: { write: { state: "in_doubt" } } });
    expect(await collectEvents(run, "step.probed")).toMatchObject([{ why: expect.stringContaining("other content") }]);
    expect(readFileSync(join(root, "note.md"), "utf8")).toBe("someone else's");
  });

  it("that is absent twice is written again", async () => {
    let turn = 0;
    const stage = newStage();
    const { root, tool } = writing((write) => {
      turn += 1;
      if (turn === 2) write();
      throw new Error("lost the connection");
    });
    const engine = await stage.open({ tools: [tool] });
    const run = await engine.submit({ steps }, { principal: botAgent });
    expect((await endOf(stage, run)).status).toBe("completed");
    expect(turn).toBe(2);
    expect(readFileSync(join(root, "note.md"), "utf8")).toBe("hello");
  });
});
