import { Command } from "commander";
import type { WaitingRun, WorkersReport, WorkerView } from "../../engine/api/workers-report.ts";
import { helpExample, type Invocation } from "../invocation.ts";
import { line, type SafeLine, tableLines } from "../safe-line.ts";
import { shortDigest } from "../short-digest.ts";
import type { TextStyle } from "../text-style.ts";
import { timeText } from "../time-text.ts";
import { withEngine } from "../with-engine.ts";

export function workersCommand(invocation: Invocation): Command {
  const command = new Command("workers")
    .description("list the workers with their rules, tools and runs, and the runs that no worker continues")
    .addHelpText("after", helpExample("writ workers", "writ workers --json"));
  return invocation.withAction(command, (_, options) =>
    withEngine(invocation, options, { work: "no", needs: "store" }, async ({ engine, person }) => {
      const report = await engine.workers({ principal: person });
      invocation.terminal.printResult({ ...report }, () =>
        reportLines(report, person.tenant, invocation.terminal.style),
      );
      return 0;
    }),
  );
}

function reportLines({ workers, waiting }: WorkersReport, tenant: string, style: TextStyle): readonly SafeLine[] {
  const list = workers.flatMap((worker) => [...workerLines(worker, style), line``]);
  const none = [line`no worker executes this store`, line``];
  const missing = waiting.flatMap((run) => waitingLines(run));
  return [
    ...(workers.length === 0 ? none : list),
    ...(waiting.length === 0
      ? [line`no run of tenant ${tenant} waits for a worker`]
      : [line`Runs that no worker continues:`, ...missing]),
  ];
}

function workerLines(view: WorkerView, style: TextStyle): readonly SafeLine[] {
  const { worker, version, host, pid, rules, tools, notices, runs } = view;
  const what = version === null ? "not registered" : `writ ${version}, process ${pid} on ${host}`;
  const offered = [...tools, ...(notices ? ["delivers notices"] : [])].join(", ");
  const held = runs.map(({ run_id, queue, since, until }) => [
    line`  ${run_id}`,
    line`${queue ?? "(ending)"}`,
    line`since ${timeText(since, style)}`,
    until === null ? line`` : line`until ${timeText(until, style)}`,
  ]);
  return [
    line`${worker}  ${what}`,
    line`  rules  ${rules === null ? "none: it claims no more runs" : shortDigest(rules)}`,
    line`  tools  ${offered === "" ? "none" : offered}`,
    ...(held.length === 0 ? [line`  runs   none`] : [line`  runs`, ...tableLines(held)]),
  ];
}

function waitingLines({ run_id, reason_code, needs, rules, with_needs, with_rules }: WaitingRun): readonly SafeLine[] {
  return [
    line`  ${run_id}  rules ${shortDigest(rules)}  ${reason_code}`,
    ...with_needs.map((worker) => line`    ${worker} has ${needs.join(" or ")}, and other rules`),
    ...with_rules.map((worker) => line`    ${worker} has the rules of the run`),
    line`    ${waitingText({ reason_code, needs })}`,
  ];
}

function waitingText({ reason_code, needs }: Pick<WaitingRun, "reason_code" | "needs">): string {
  switch (reason_code) {
    case "NO_WORKER":
      return "start a worker";
    case "TOOL_MISSING":
      return `start a worker that has ${needs.join(" or ")}`;
    case "TOOL_CHANGED":
      return `start a worker that has ${needs.join(" or ")} as it was when the run was accepted`;
    case "RULES_ELSEWHERE":
      return "start a worker that has both, or stop those that have only the rules";
    case "RULES_MISSING":
      return "its rules are pinned: start a worker with them, or resume the run under the rules of now";
    case "NO_NOTICES":
      return "start a worker that delivers notices (onNotice)";
  }
}
