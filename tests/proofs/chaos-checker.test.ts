import { describe, expect, it } from "vitest";
import { parseChaosArguments } from "../../chaos/chaos-arguments.ts";
import { drawJob } from "../../chaos/chaos-jobs.ts";
import { chaosFailures, chaosFigures, type MinimumFigures, minimumOnce } from "../../chaos/chaos-report.ts";
import { checkHistory, type StoredJournals } from "../../chaos/check-history.ts";
import { checkJob } from "../../chaos/check-job.ts";
import { countHistory } from "../../chaos/count-history.ts";
import { countNeedlessDoubts } from "../../chaos/count-needless-doubts.ts";
import type { ChaosResult } from "../../chaos/run-chaos.ts";
import { type HistoryLine, parseHistory, parseJsonLines } from "../../chaos/store-history.ts";
import { Rng } from "../../sim/rng.ts";
import type { StepResult } from "../../src/core/run/step-result.ts";
import {
  accepted,
  append,
  byAna,
  byBob,
  type CallLines,
  call,
  claim,
  first,
  journal,
  landed,
  late,
  lateLanded,
  linesOf,
  unknown,
} from "./history-lines.ts";
import { makeRandomHistory, type StoreBug } from "./random-history.ts";

function violations(lines: readonly HistoryLine[], journal: readonly string[]): readonly string[] {
  return checkHistory(parseHistory(lines), new Map([["run", journal]]));
}

const second = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, landed);
const lost = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, unknown);
const retried = append(
  "bob",
  { at: 2, epoch: 2, events: ["c", "d"] },
  { landed: false, why: "position", position: 4, hash: "c" },
);
const one = append("bob", { at: 2, epoch: 2, events: ["c"] }, landed);
const lostOne = append("bob", { at: 2, epoch: 2, events: ["c"] }, unknown);
const position = { landed: false, why: "position", hash: "c" } as const;
const dies: HistoryLine = { server: "dies" };
const isBack: HistoryLine = { server: "is back" };

describe("history of a correct ledger", () => {
  it("has no findings", () => {
    expect(violations(linesOf(accepted, byAna, first, byBob, late, second), journal)).toEqual([]);
  });

  it("may contain a lost answer whose entry is found by the retry", () => {
    expect(violations(linesOf(accepted, byAna, first, byBob, lost, retried), journal)).toEqual([]);
  });

  it("may contain a lost answer to an append that never landed", () => {
    expect(violations(linesOf(accepted, byAna, first, byBob, lost), ["a", "b"])).toEqual([]);
  });

  it("may contain an append whose worker died before the answer, landed or not", () => {
    const lines = linesOf(accepted, byAna, first, byBob, second.requestLine);
    expect(violations(lines, journal)).toEqual([]);
    expect(violations(lines, ["a", "b"])).toEqual([]);
  });

  it("may contain a worker that is answered long after another took its run", () => {
    const lines = [
      ...linesOf(accepted, byAna),
      first.requestLine,
      ...linesOf(byBob),
      first.replyLine,
      ...linesOf(second),
    ];
    expect(violations(lines, journal)).toEqual([]);
  });

  it("may contain an append that landed just before its run was taken and whose worker died", () => {
    const built = append("bob", { at: 3, epoch: 2, events: ["e"] }, landed);
    const lines = [...linesOf(accepted, byAna, first), late.requestLine, ...linesOf(byBob, built)];
    expect(violations(lines, ["a", "b", "x", "e"])).toEqual([]);
  });

  it("may contain two workers that append the same bytes, though one has lost the run", () => {
    const same = append("ana", { at: 2, epoch: 1, events: ["c", "d"] }, unknown);
    expect(violations(linesOf(accepted, byAna, first, byBob, same, second), journal)).toEqual([]);
  });

  it("may contain an entry that failed and landed with another behind it", () => {
    const failed = append("bob", { at: 2, epoch: 2, events: ["c"] }, { fault: "STORE_FAILED" });
    expect(violations(linesOf(accepted, byAna, first, byBob, failed, second), journal)).toEqual([]);
  });

  it("may contain a landed entry that is offered again with another behind it", () => {
    const more = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, { ...position, position: 3 });
    const rest = append("bob", { at: 3, epoch: 2, events: ["d2"] }, landed);
    const lines = linesOf(accepted, byAna, first, byBob, lostOne, more, rest);
    expect(violations(lines, ["a", "b", "c", "d2"])).toEqual([]);
  });

  it("may lose unsynced entries when the server is lost", () => {
    const soft = append("bob", { at: 2, epoch: 2, events: ["s"], flush: "soft" }, landed);
    expect(violations(linesOf(accepted, byAna, first, byBob, soft, dies, isBack, second), journal)).toEqual([]);
  });

  it("may fence a worker for a claim whose worker died before the answer", () => {
    const claiming = call("bob", { do: "claim", run: null }, { granted: [] }).requestLine;
    expect(violations(linesOf(accepted, byAna, first, claiming, late), ["a", "b"])).toEqual([]);
  });
});

describe("chaos checker finds", () => {
  const mark = call("ana", { do: "mark", claim: ["run", 1], step: "send", attempt: 1 }, { marked: true });
  const renewal = call("ana", { do: "renew", claims: [["run", 1]] }, { renewed: [["run", 1]] });
  const soft = append("bob", { at: 2, epoch: 2, events: ["s"], flush: "soft" }, landed);
  const other = append("eve", { at: 3, epoch: null, events: ["e"] }, landed);
  const part = ["a", "b", "c"];

  it.each<[string, readonly HistoryLine[], readonly string[], RegExp]>([
    ["an epoch that was granted twice", linesOf(accepted, byAna, claim("bob", 1)), ["a"], /epoch 1 was granted twice/],
    [
      "an append of an old epoch",
      linesOf(accepted, byAna, first, byBob, lateLanded),
      ["a", "b", "x"],
      /answered before/,
    ],
    ["an acknowledged append that is missing", linesOf(accepted, byAna, first), ["a"], /acknowledged and is missing/],
    [
      "another event in place of an acknowledged append",
      linesOf(accepted, byAna, first),
      ["a", "z"],
      /acknowledged and is missing/,
    ],
    [
      "a missing append whose retry found it",
      linesOf(
        accepted,
        byAna,
        first,
        byBob,
        lostOne,
        append("bob", { at: 2, epoch: 2, events: ["c"] }, { ...position, position: 3 }),
      ),
      ["a", "b"],
      /is missing/,
    ],
    [
      "a refused append that landed",
      linesOf(accepted, byAna, first, byBob, late),
      ["a", "b", "x"],
      /its answer was a refusal/,
    ],
    ["an append that landed in part", linesOf(accepted, byAna, first, byBob, second), part, /landed in part/],
    [
      "an event that was acknowledged to two workers",
      linesOf(accepted, byAna, first, append("bob", { at: 1, epoch: null, events: ["b"] }, landed)),
      ["a", "b"],
      /acknowledged to 2 workers/,
    ],
    [
      "an event that no worker appended",
      linesOf(accepted, byAna, first),
      ["a", "b", "z"],
      /event 3 was appended by no worker/,
    ],
    ["an epoch that was never granted", linesOf(accepted, first), ["a", "b"], /that epoch was never granted/],
    ["a fence without a cause", linesOf(accepted, byAna, first, late), ["a", "b"], /no later epoch was granted/],
    ["a fence before its cause", linesOf(accepted, byAna, first, late, byBob), ["a", "b"], /answered before/],
    [
      "an event before its predecessor",
      linesOf(accepted, byAna, byBob, second, append("bob", { at: 1, epoch: 2, events: ["b"] }, landed)),
      journal,
      /answered before/,
    ],
    [
      "a marker of a worker that has lost the run",
      linesOf(accepted, byAna, first, byBob, mark),
      ["a", "b"],
      /the marker of send/,
    ],
    [
      "a renewed lease of a worker that has lost the run",
      linesOf(accepted, byAna, first, byBob, renewal),
      ["a", "b"],
      /the renewal/,
    ],
    [
      "a missing unsynced append without a server fault",
      linesOf(accepted, byAna, first, byBob, soft),
      ["a", "b"],
      /is missing/,
    ],
    [
      "a missing unsynced append before a synced one",
      linesOf(accepted, byAna, first, byBob, soft, other, dies, isBack),
      ["a", "b"],
      /the append at 2 .* is missing/,
    ],
    [
      "an epoch that was granted again after a server fault",
      linesOf(accepted, byAna, dies, isBack, claim("bob", 1)),
      ["a"],
      /twice/,
    ],
  ])("%s", (_, lines, stored, what) => {
    expect(violations(lines, stored).join("\n")).toMatch(what);
  });

  it("an append of an old epoch after one of the new, though its times would allow it", () => {
    const behind = append("ana", { at: 3, epoch: 1, events: ["x"] }, landed);
    const lines = [...linesOf(accepted, byAna, first), behind.requestLine, ...linesOf(byBob, one), behind.replyLine];
    expect(violations(lines, ["a", "b", "c", "x"]).join()).toMatch(/must come before the other/);
  });
});

describe("random histories", () => {
  const seeds = Array.from({ length: 300 }, (_, seed) => seed);
  const foundBy = (bug: StoreBug | null): number =>
    seeds.filter((seed) => {
      const { lines, journals } = makeRandomHistory(seed, bug);
      return checkHistory(parseHistory(lines), journals).length > 0;
    }).length;

  it("of a correct store raise no finding", () => {
    expect(foundBy(null)).toBe(0);
  });

  it.each<[StoreBug]>([["no epoch condition"], ["a repeated epoch"], ["a lost append"], ["a refusal that lands"]])(
    "of a store with %s raise one",
    (bug) => {
      expect(foundBy(bug)).toBeGreaterThan(20);
    },
  );
});

describe("history figures", () => {
  it("separate lost answers that had landed from those that had not", () => {
    const again = append("bob", { at: 4, epoch: 2, events: ["e"] }, unknown);
    const then = append("bob", { at: 4, epoch: 2, events: ["e"] }, landed);
    const lines = linesOf(accepted, byAna, first, byBob, late, lost, retried, again, then);
    const journals: StoredJournals = new Map([["run", [...journal, "e"]]]);
    expect(countHistory(parseHistory(lines), journals)).toEqual({
      takeovers: 1,
      fenced: 1,
      unknown_commits: 2,
      unknown_landed: 1,
      unknown_not_landed: 1,
    });
  });

  it("count no takeover of a released run", () => {
    const release = call("ana", { do: "release", claim: ["run", 1] }, { done: true });
    const historyCounts = countHistory(parseHistory(linesOf(accepted, byAna, release, byBob)), new Map());
    expect(historyCounts.takeovers).toBe(0);
  });

  it("ignore a line that a kill cut short", () => {
    expect(parseJsonLines(`{"server":"dies"}\n{"server":"is b`)).toEqual([dies]);
  });
});

describe("in-doubt outcome", () => {
  const body = JSON.stringify({ step_id: "act", attempt: 1 });
  const doubt = { run: "run", hash: "c", body };
  const started = append("ana", { at: 1, epoch: 1, events: ["b"] }, landed);
  const mark = call("ana", { do: "mark", claim: ["run", 1], step: "act", attempt: 1 }, { marked: false });
  const needless = (...calls: readonly (CallLines | HistoryLine)[]): number =>
    countNeedlessDoubts([doubt], parseHistory(linesOf(...calls)));

  it("is needed where the tool may have been called or a marker may be lost", () => {
    expect(needless(accepted, byAna, started, mark, byBob, one)).toBe(0);
    expect(needless(accepted, byAna, started, mark.requestLine, byBob, one)).toBe(0);
    expect(needless(accepted, byAna, started, dies, isBack, byBob, one)).toBe(0);
  });

  it("is not needed where the tool was not called and the store can know it", () => {
    expect(needless(dies, isBack, accepted, byAna, started, byBob, one, dies, isBack)).toBe(1);
  });
});

describe("job check", () => {
  const job = drawJob(0, new Rng(1));
  const act = { did: "act.opaque", to: "job 0 act", key: "k", receipt: "w1.2", by: "w1" };
  const ask = { did: "ask", to: "job 0 ask", key: "", receipt: "w1.1", by: "w1" };
  const request: StepResult = { state: "succeeded", output: { receipt: "w1.1" } };
  const acted: StepResult = { state: "succeeded", output: { receipt: "w1.2" } };
  const fault = { code: "TOOL_FAILED", message: "" } as const;
  const kindsOf = (result: StepResult, effects: readonly (typeof act)[]) =>
    checkJob(job, { steps: { ask: request, act: result } }, [ask, ...effects]).map(({ kind }) => kind);

  it("has no findings where record and world agree", () => {
    expect(kindsOf(acted, [act])).toEqual([]);
    expect(kindsOf({ state: "in_doubt", fault, attempt: 1 }, [act])).toEqual([]);
    expect(kindsOf({ state: "in_doubt", fault, attempt: 1 }, [])).toEqual([]);
    expect(kindsOf({ state: "failed_final", fault }, [])).toEqual([]);
  });

  it("finds an effect that happened twice, happened though it failed, or never happened", () => {
    expect(kindsOf(acted, [act, { ...act, receipt: "w2.1" }])).toEqual(["duplicate"]);
    expect(kindsOf({ state: "failed_final", fault }, [act])).toEqual(["duplicate"]);
    expect(kindsOf(acted, [])).toEqual(["lost"]);
    expect(kindsOf({ state: "succeeded", output: { receipt: "w9.9" } }, [act])).toEqual(["lost"]);
  });

  it("counts effects with one key once", () => {
    const keyed = drawJob(1, new Rng(1));
    const sent = { ...act, did: "act.keyed", to: "job 1 act" };
    const read = { ...ask, to: "job 1 ask" };
    const steps = { ask: request, act: { state: "succeeded", output: { receipt: "k" } } } as const;
    expect(checkJob(keyed, { steps }, [read, sent, sent])).toEqual([]);
    expect(checkJob(keyed, { steps }, [read, sent, { ...sent, key: "other" }])).toHaveLength(1);
  });
});

describe("chaos report", () => {
  const sound: ChaosResult = {
    runs: 10,
    faults: { worker_kills: 3, zombies: 1, server_faults: 1, terminated: 1, cuts: 4 },
    historyCounts: { takeovers: 2, fenced: 1, unknown_commits: 2, unknown_landed: 1, unknown_not_landed: 1 },
    in_doubt: 1,
    needless: 0,
    parked: 0,
    findings: [],
    violations: [],
  };

  const failures = (result: ChaosResult, least: MinimumFigures = minimumOnce.postgres) => chaosFailures(result, least);

  it("has the fields a script reads and no complaint when every check passes", () => {
    expect(failures(sound)).toEqual([]);
    expect(chaosFigures(sound)).toMatchObject({
      runs: 10,
      unknown_commits: 2,
      duplicates: 0,
      lost: 0,
      stuck: 0,
      violations: 0,
    });
  });

  it("complains about every finding and about every missing fault", () => {
    expect(failures({ ...sound, findings: [{ kind: "lost", what: "it" }] })).toEqual(["lost: it"]);
    expect(failures({ ...sound, violations: ["it"] })).toHaveLength(1);
    expect(failures({ ...sound, in_doubt: 0 })).toHaveLength(1);
    expect(failures(sound, { ...minimumOnce.postgres, worker_kills: 4 })).toHaveLength(1);
    expect(failures({ ...sound, in_doubt: 40, needless: 4 })).toEqual([]);
    expect(failures({ ...sound, in_doubt: 40, needless: 5 })).toHaveLength(1);
    expect(
      failures({ ...sound, historyCounts: { ...sound.historyCounts, fenced: 0, unknown_landed: 0 } }),
    ).toHaveLength(2);
  });

  it.each([
    ["--seconds", "0"],
    ["--workers", "many"],
    ["--store", "paper"],
    ["--seconds", "5", "--minutes", "1"],
    ["--often"],
  ])("is not made from %s", (...args) => {
    expect(parseChaosArguments(args, 7)).toHaveProperty("wrong");
    expect(parseChaosArguments(["--workers", "2"], 7)).toMatchObject({
      seed: 7,
      workers: 2,
      seconds: null,
      json: false,
      store: "postgres",
    });
    expect(parseChaosArguments(["--store", "sqlite", "--minutes", "2"], 7)).toMatchObject({
      store: "sqlite",
      seconds: 120,
    });
  });
});
