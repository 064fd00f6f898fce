import { expect, it } from "vitest";
import type { RunResult } from "../core/run/run-result.ts";
import type { AdviceFacts } from "./load-advice-facts.ts";
import { type AdviceContext, adviceLines } from "./run-advice.ts";

const context: AdviceContext = {
  commandLine: (...words) => ["writ", ...words].join(" "),
  canExecute: true,
  adminRole: null,
  tool: () => undefined,
};

function adviceOf(result: Partial<RunResult>): string {
  const facts = { steps: new Map() } as unknown as AdviceFacts;
  const shown = {
    run_id: "run_1",
    final: false,
    steps: {},
    blocked_on: [],
    next: null,
    ...result,
  } as unknown as RunResult;
  return adviceLines(shown, facts, context, { color: false } as never)
    .map(({ text }) => text)
    .join("\n");
}

it("names the worker with the tool and the worker with the rules of a run, and the commands", () => {
  const workers = { with_needs: ["wrk_b"], with_rules: ["wrk_a"] } as never;
  const text = adviceOf({ blocked_on: [{ step_id: "send", reason_code: "RULES_ELSEWHERE", workers } as never] });
  expect(text).toContain("wrk_b has the tool, and other rules");
  expect(text).toContain("wrk_a has the rules, and not the tool");
  expect(text).toContain("writ workers");
  expect(text).toContain("writ cancel run_1");
});

it("shows the pinned and the found rules of a parked run, and the command that accepts the found ones", () => {
  const text = adviceOf({ rules_missing: { since: 1, from: "aaaaaaaaaaaaaaaa", to: "bbbbbbbbbbbbbbbb" } as never });
  expect(text).toContain("pinned (aaaaaaaaaaaa)");
  expect(text).toContain("one has bbbbbbbbbbbb");
  expect(text).toContain("writ resume run_1");
});
