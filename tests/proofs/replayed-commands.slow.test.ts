import { describe, expect, it, vi } from "vitest";
import { simulate } from "../../sim/simulate.ts";
import type { Rules } from "../../src/core/call/guard.ts";
import type { Command } from "../../src/core/decide/command.ts";
import type { Decision } from "../../src/core/decide/decide.ts";
import type { Run } from "../../src/core/run/run.ts";
import { takesAllCases } from "../select-cases.ts";

const replayed = vi.hoisted(() => new Map<string, number>());

vi.mock("../../src/core/decide/decide.ts", async (importOriginal) => {
  const original = await importOriginal<{ decide(run: Run, command: Command, rules: Rules): Decision }>();
  const asText = ({ after: _, ...rest }: Decision): string => JSON.stringify(rest);
  const decide = (run: Run, command: Command, rules: Rules): Decision => {
    const decision = original.decide(run, command, rules);
    const copy = JSON.parse(JSON.stringify(command)) as Command;
    expect(asText(original.decide(run, copy, rules))).toBe(asText(decision));
    replayed.set(command.type, (replayed.get(command.type) ?? 0) + 1);
    return decision;
  };
  return { ...original, decide };
});

/** Types of commands that few or no simulated runs issue. The scenarios of `given` replay them. */
type Rare =
  | "propose"
  | "close"
  | "abandon"
  | "release"
  | "deliver_answer"
  | "delegate"
  | "leave_agent"
  | "inherit_acts"
  | "ask_model"
  | "finish_turns"
  | "restoring"
  | "restored"
  | "unrestorable"
  | "tell_undone"
  | "verify"
  | "park"
  | "withdraw"
  | "roll_back";

const commandTypes: Record<Exclude<Command["type"], Rare>, true> = {
  accept: true,
  start: true,
  end: true,
  recover: true,
  settle: true,
  resolve: true,
  approve: true,
  reject: true,
  expire: true,
  supersede: true,
  cancel: true,
  wake: true,
  resume: true,
  restore: true,
  alert: true,
  deliver: true,
  signal: true,
};

describe("a command", () => {
  it("gives the same decision after it was serialised, for every command that simulated runs issue", async () => {
    for (let seed = 1; seed <= (takesAllCases ? 150 : 75); seed += 1)
      expect((await simulate(seed)).violation).toBeNull();
    expect(Object.keys(commandTypes).filter((type) => !replayed.has(type))).toEqual([]);
  });
});
