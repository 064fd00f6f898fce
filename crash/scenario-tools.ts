import type { Tool, ToolContext } from "../src/core/tool/tool.ts";
import { FaultError, notDone } from "../src/core/values/fault.ts";
import { defineTool } from "../src/schema/define-tool.ts";
import { cheapSchema, type MailInput, type MailOutput, type ScenarioWorld, sendLoggedMail } from "./scenario.ts";

/** Returns a tool that records its call in the world log and returns the recipient. */
export function askTool({ worldLog, at }: ScenarioWorld, name: string, effect: "reads" | "pure" | "writes") {
  return defineTool({
    name,
    effect,
    input: cheapSchema<MailInput>(),
    output: cheapSchema<MailOutput>(),
    run: async ({ to }) => {
      at("tool.called");
      await worldLog.appendAsync({ did: name, to });
      at("tool.sent");
      return { sent: to };
    },
  });
}

export function notDoneOnceTool(world: ScenarioWorld) {
  return async (mail: MailInput, { key, attempt }: ToolContext) => {
    if (attempt === 1) throw notDone("TEMPORARY_PROVIDER_ERROR", "the server refused the connection");
    return sendLoggedMail(world, mail, key);
  };
}

export function failAfterSendTool(world: ScenarioWorld) {
  return async (mail: MailInput, { key }: ToolContext) => {
    await sendLoggedMail(world, mail, key);
    throw new Error("the connection was lost");
  };
}

export function noticeTool(world: ScenarioWorld) {
  return async (mail: MailInput, { key, notice }: ToolContext) => {
    notice("mail.sent", { to: mail.to });
    return sendLoggedMail(world, mail, key);
  };
}

/** Returns a tool that only sends a notice. */
export function pingTool({ at }: ScenarioWorld): Tool {
  return defineTool({
    name: "mail.ping",
    effect: "reads",
    input: cheapSchema<object>(),
    output: cheapSchema<object>(),
    run: async (_, { notice }) => {
      at("tool.called");
      notice("pinged", {});
      return {};
    },
  });
}

export function errandTool({ at, named }: ScenarioWorld) {
  return defineTool({
    name: "mail.plan",
    effect: "reads",
    input: cheapSchema<MailInput>(),
    output: cheapSchema<MailOutput>(),
    run: async ({ to }, { errand }) => {
      at("tool.called");
      errand(named("mail.send"), { to });
      return { sent: to };
    },
  });
}

export function largeInputTool() {
  return defineTool({
    name: "mail.write",
    effect: "reads",
    input: cheapSchema<object>(),
    output: cheapSchema<{ readonly text: string }>(),
    run: () => ({ text: "x".repeat(100_000) }),
  });
}

export function failUntilRepairedTool({ worldLog }: ScenarioWorld) {
  return defineTool({
    name: "mail.check",
    effect: "reads",
    input: cheapSchema<object>(),
    output: cheapSchema<object>(),
    run: () => {
      if (worldLog.count("repair", "the server") > 0) return {};
      throw new FaultError({ code: "TOOL_FAILED", message: "the server is not set up" });
    },
  });
}

/** Books rooms and cancels bookings. */
export function bookingTool(world: ScenarioWorld, more: object) {
  const { worldLog, at } = world;
  return defineTool({
    name: "room.book",
    effect: "acts",
    input: cheapSchema<MailInput>(),
    output: cheapSchema<MailOutput>(),
    run: async ({ to }) => {
      at("tool.called");
      await worldLog.appendAsync({ did: "book", to });
      at("tool.sent");
      return { sent: to };
    },
    compensate: async ({ input }) => {
      at("tool.called");
      await worldLog.appendAsync({ did: "cancel", to: input.to });
      at("tool.sent");
    },
    ...more,
  });
}

export function verifyBooking({ worldLog, at }: ScenarioWorld) {
  return ({ input }: { readonly input: unknown }) => {
    at("verify.asked");
    const { to } = input as MailInput;
    const stands = worldLog.count("book", to) > worldLog.count("cancel", to);
    return stands ? { saw: "happened", output: { sent: to } } : { saw: "absent" };
  };
}
