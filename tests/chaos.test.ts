import { describe, expect, it } from "vitest";
import { readArguments } from "../chaos/arguments.ts";
import { check, type Journals } from "../chaos/checker.ts";
import { needlessIn } from "../chaos/doubts.ts";
import { type Answer, historyOf, type Line, linesIn, type Question } from "../chaos/history.ts";
import { judge } from "../chaos/judge.ts";
import { jobOf } from "../chaos/plans.ts";
import { complaints, figuresOf, once } from "../chaos/report.ts";
import type { Wreckage } from "../chaos/storm.ts";
import { sumsOf } from "../chaos/sums.ts";
import { Rng } from "../sim/rng.ts";
import type { StepResult } from "../src/core/result.ts";
import { playedOn, type Wrong } from "./chaos-model.ts";

/** A call whose question and answer stand at a place of their own in the history. */
interface Asked {
  readonly asks: Line;
  readonly hears: Line;
}

let count = 0;

function call(by: string, asked: Question, heard: Answer): Asked {
  count += 1;
  return { asks: { id: `${count}`, by, asked }, hears: { id: `${count}`, heard } };
}

/** One after the other. */
function told(...calls: readonly (Asked | Line)[]): readonly Line[] {
  return calls.flatMap((each) => ("asks" in each ? [each.asks, each.hears] : [each]));
}

const landed = { landed: true } as const;
const fenced = { landed: false, why: "epoch" } as const;
const unknown = { fault: "STORE_UNKNOWN" } as const;

interface Sent {
  readonly at: number;
  readonly epoch: number | null;
  readonly events: readonly string[];
  readonly flush?: "hard" | "soft";
}

function append(by: string, { at, epoch, events, flush = "hard" }: Sent, heard: Answer): Asked {
  return call(by, { do: "append", run: "run", position: at, epoch, hashes: events, flush }, heard);
}

function claim(by: string, epoch: number): Asked {
  return call(by, { do: "claim", run: "run" }, { given: [["run", epoch]] });
}

function violations(lines: readonly Line[], journal: readonly string[]): readonly string[] {
  return check(historyOf(lines), new Map([["run", journal]]));
}

const accepted = append("driver", { at: 0, epoch: null, events: ["a"] }, landed);
const byAna = claim("ana", 1);
const byBob = claim("bob", 2);
const first = append("ana", { at: 1, epoch: 1, events: ["b"] }, landed);
const late = append("ana", { at: 2, epoch: 1, events: ["x"] }, fenced);
const lateLanded = append("ana", { at: 2, epoch: 1, events: ["x"] }, landed);
const second = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, landed);
const lost = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, unknown);
const mine = append(
  "bob",
  { at: 2, epoch: 2, events: ["c", "d"] },
  { landed: false, why: "position", position: 4, hash: "c" },
);
const one = append("bob", { at: 2, epoch: 2, events: ["c"] }, landed);
const lostOne = append("bob", { at: 2, epoch: 2, events: ["c"] }, unknown);
const position = { landed: false, why: "position", hash: "c" } as const;
const journal = ["a", "b", "c", "d"];
const dies: Line = { server: "dies" };
const isBack: Line = { server: "is back" };

describe("the history of a ledger that keeps its promises", () => {
  it("speaks against nothing", () => {
    expect(violations(told(accepted, byAna, first, byBob, late, second), journal)).toEqual([]);
  });

  it("may show a lost answer, and the same entry finding itself there", () => {
    expect(violations(told(accepted, byAna, first, byBob, lost, mine), journal)).toEqual([]);
  });

  it("may show a lost answer to what never landed", () => {
    expect(violations(told(accepted, byAna, first, byBob, lost), ["a", "b"])).toEqual([]);
  });

  it("may show an append that nobody lived to hear of, landed or not", () => {
    const lines = told(accepted, byAna, first, byBob, second.asks);
    expect(violations(lines, journal)).toEqual([]);
    expect(violations(lines, ["a", "b"])).toEqual([]);
  });

  it("may show a worker that is answered long after another took its run", () => {
    const lines = [...told(accepted, byAna), first.asks, ...told(byBob), first.hears, ...told(second)];
    expect(violations(lines, journal)).toEqual([]);
  });

  it("may show an append that landed just before its run was taken, and whose worker died", () => {
    const built = append("bob", { at: 3, epoch: 2, events: ["e"] }, landed);
    const lines = [...told(accepted, byAna, first), late.asks, ...told(byBob, built)];
    expect(violations(lines, ["a", "b", "x", "e"])).toEqual([]);
  });

  it("may show two workers that mean the same, to the millisecond, of whom one has lost the run", () => {
    const same = append("ana", { at: 2, epoch: 1, events: ["c", "d"] }, unknown);
    expect(violations(told(accepted, byAna, first, byBob, same, second), journal)).toEqual([]);
  });

  it("may show an entry that failed, and landed with another behind it", () => {
    const failed = append("bob", { at: 2, epoch: 2, events: ["c"] }, { fault: "STORE_FAILED" });
    expect(violations(told(accepted, byAna, first, byBob, failed, second), journal)).toEqual([]);
  });

  it("may show an entry that had landed, and was offered again with another behind it", () => {
    const more = append("bob", { at: 2, epoch: 2, events: ["c", "d"] }, { ...position, position: 3 });
    const rest = append("bob", { at: 3, epoch: 2, events: ["d2"] }, landed);
    const lines = told(accepted, byAna, first, byBob, lostOne, more, rest);
    expect(violations(lines, ["a", "b", "c", "d2"])).toEqual([]);
  });

  it("may lose what was not synced, with the server", () => {
    const soft = append("bob", { at: 2, epoch: 2, events: ["s"], flush: "soft" }, landed);
    expect(violations(told(accepted, byAna, first, byBob, soft, dies, isBack, second), journal)).toEqual([]);
  });

  it("may fence someone for a claim that nobody lived to hear of", () => {
    const claiming = call("bob", { do: "claim", run: null }, { given: [] }).asks;
    expect(violations(told(accepted, byAna, first, claiming, late), ["a", "b"])).toEqual([]);
  });
});

describe("the checker finds", () => {
  const mark = call("ana", { do: "mark", right: ["run", 1], step: "send", attempt: 1 }, { marked: true });
  const renewal = call("ana", { do: "renew", rights: [["run", 1]] }, { kept: [["run", 1]] });
  const soft = append("bob", { at: 2, epoch: 2, events: ["s"], flush: "soft" }, landed);
  const other = append("eve", { at: 3, epoch: null, events: ["e"] }, landed);
  const part = ["a", "b", "c"];

  it.each<[string, readonly Line[], readonly string[], RegExp]>([
    ["an epoch that two were given", told(accepted, byAna, claim("bob", 1)), ["a"], /epoch 1 was given out twice/],
    ["an append of an old epoch", told(accepted, byAna, first, byBob, lateLanded), ["a", "b", "x"], /answered before/],
    ["an acknowledged append that is missing", told(accepted, byAna, first), ["a"], /acknowledged and is not there/],
    ["another one in its place", told(accepted, byAna, first), ["a", "z"], /acknowledged and is not there/],
    [
      "a lost one that found itself there, and is missing",
      told(
        accepted,
        byAna,
        first,
        byBob,
        lostOne,
        append("bob", { at: 2, epoch: 2, events: ["c"] }, { ...position, position: 3 }),
      ),
      ["a", "b"],
      /is not there/,
    ],
    [
      "a refused append that landed",
      told(accepted, byAna, first, byBob, late),
      ["a", "b", "x"],
      /the answer was that it did not/,
    ],
    ["an append of which a part landed", told(accepted, byAna, first, byBob, second), part, /landed in part/],
    [
      "an event that two were told is theirs",
      told(accepted, byAna, first, append("bob", { at: 1, epoch: null, events: ["b"] }, landed)),
      ["a", "b"],
      /2 were told that it is theirs/,
    ],
    ["an event that nobody appended", told(accepted, byAna, first), ["a", "b", "z"], /event 3 was appended by nobody/],
    ["an epoch that nobody was given", told(accepted, first), ["a", "b"], /nobody was given that epoch/],
    ["a fence without a cause", told(accepted, byAna, first, late), ["a", "b"], /nobody has a later epoch/],
    ["a fence before its cause", told(accepted, byAna, first, late, byBob), ["a", "b"], /answered before/],
    [
      "an event before the one under it",
      told(accepted, byAna, byBob, second, append("bob", { at: 1, epoch: 2, events: ["b"] }, landed)),
      journal,
      /answered before/,
    ],
    ["a marker for who has lost the run", told(accepted, byAna, first, byBob, mark), ["a", "b"], /the marker of send/],
    [
      "a lease renewed for who has lost the run",
      told(accepted, byAna, first, byBob, renewal),
      ["a", "b"],
      /the renewal/,
    ],
    [
      "an unsynced append that is gone though the server lives",
      told(accepted, byAna, first, byBob, soft),
      ["a", "b"],
      /is not there/,
    ],
    [
      "an unsynced append that is gone though a later one was synced",
      told(accepted, byAna, first, byBob, soft, other, dies, isBack),
      ["a", "b"],
      /the append at 2 .* is not there/,
    ],
    [
      "an epoch given out again after the server fell",
      told(accepted, byAna, dies, isBack, claim("bob", 1)),
      ["a"],
      /twice/,
    ],
  ])("%s", (_, lines, stands, what) => {
    expect(violations(lines, stands).join("\n")).toMatch(what);
  });

  it("an append of an old epoch behind one of the new, though its times would allow it", () => {
    const behind = append("ana", { at: 3, epoch: 1, events: ["x"] }, landed);
    const lines = [...told(accepted, byAna, first), behind.asks, ...told(byBob, one), behind.hears];
    expect(violations(lines, ["a", "b", "c", "x"]).join()).toMatch(/must have come before the other/);
  });
});

describe("histories played at random", () => {
  const seeds = Array.from({ length: 300 }, (_, seed) => seed);
  const foundBy = (wrong: Wrong | null): number =>
    seeds.filter((seed) => {
      const { lines, journals } = playedOn(seed, wrong);
      return check(historyOf(lines), journals).length > 0;
    }).length;

  it("of a store that keeps its promises raise no alarm", () => {
    expect(foundBy(null)).toBe(0);
  });

  it.each<[Wrong]>([["no epoch condition"], ["an epoch again"], ["an append forgotten"], ["a refusal that lands"]])(
    "of a store with %s raise one",
    (wrong) => {
      expect(foundBy(wrong)).toBeGreaterThan(20);
    },
  );
});

describe("what the history adds up to", () => {
  it("tells lost answers that had landed from those that had not", () => {
    const again = append("bob", { at: 4, epoch: 2, events: ["e"] }, unknown);
    const then = append("bob", { at: 4, epoch: 2, events: ["e"] }, landed);
    const lines = told(accepted, byAna, first, byBob, late, lost, mine, again, then);
    const journals: Journals = new Map([["run", [...journal, "e"]]]);
    expect(sumsOf(historyOf(lines), journals)).toEqual({
      takeovers: 1,
      fenced: 1,
      unknown_commits: 2,
      unknown_landed: 1,
      unknown_not_landed: 1,
    });
  });

  it("counts no takeover of what was given back", () => {
    const release = call("ana", { do: "release", right: ["run", 1] }, { done: true });
    const sums = sumsOf(historyOf(told(accepted, byAna, release, byBob)), new Map());
    expect(sums.takeovers).toBe(0);
  });

  it("forgets a line that a kill cut short", () => {
    expect(linesIn(`{"server":"dies"}\n{"server":"is b`)).toEqual([dies]);
  });
});

describe("a doubt", () => {
  const body = JSON.stringify({ step_id: "act", attempt: 1 });
  const doubt = { run: "run", hash: "c", body };
  const begun = append("ana", { at: 1, epoch: 1, events: ["b"] }, landed);
  const mark = call("ana", { do: "mark", right: ["run", 1], step: "act", attempt: 1 }, { marked: false });
  const needless = (...calls: readonly (Asked | Line)[]): number => needlessIn([doubt], historyOf(told(...calls)));

  it("is needed where the tool may have been called, or a marker may be lost", () => {
    expect(needless(accepted, byAna, begun, mark, byBob, one)).toBe(0);
    expect(needless(accepted, byAna, begun, mark.asks, byBob, one)).toBe(0);
    expect(needless(accepted, byAna, begun, dies, isBack, byBob, one)).toBe(0);
  });

  it("is needless where it was not called, and the store can know that", () => {
    expect(needless(dies, isBack, accepted, byAna, begun, byBob, one, dies, isBack)).toBe(1);
  });
});

describe("the judge of a job", () => {
  const job = jobOf(0, new Rng(1));
  const act = { did: "act.opaque", to: "job 0 act", key: "k", receipt: "w1.2", by: "w1" };
  const ask = { did: "ask", to: "job 0 ask", key: "", receipt: "w1.1", by: "w1" };
  const asked: StepResult = { state: "succeeded", output: { receipt: "w1.1" } };
  const acted: StepResult = { state: "succeeded", output: { receipt: "w1.2" } };
  const fault = { code: "TOOL_FAILED", message: "" } as const;
  const kindsOf = (result: StepResult, deeds: readonly (typeof act)[]) =>
    judge(job, { steps: { ask: asked, act: result } }, [ask, ...deeds]).map(({ kind }) => kind);

  it("has nothing to say where the record and the world agree", () => {
    expect(kindsOf(acted, [act])).toEqual([]);
    expect(kindsOf({ state: "in_doubt", fault, attempt: 1 }, [act])).toEqual([]);
    expect(kindsOf({ state: "in_doubt", fault, attempt: 1 }, [])).toEqual([]);
    expect(kindsOf({ state: "failed_final", fault }, [])).toEqual([]);
  });

  it("finds what happened twice, failed and yet happened, or was never seen", () => {
    expect(kindsOf(acted, [act, { ...act, receipt: "w2.1" }])).toEqual(["duplicate"]);
    expect(kindsOf({ state: "failed_final", fault }, [act])).toEqual(["duplicate"]);
    expect(kindsOf(acted, [])).toEqual(["lost"]);
    expect(kindsOf({ state: "succeeded", output: { receipt: "w9.9" } }, [act])).toEqual(["lost"]);
  });

  it("counts what honours its key once per key", () => {
    const keyed = jobOf(1, new Rng(1));
    const sent = { ...act, did: "act.keyed", to: "job 1 act" };
    const read = { ...ask, to: "job 1 ask" };
    const steps = { ask: asked, act: { state: "succeeded", output: { receipt: "k" } } } as const;
    expect(judge(keyed, { steps }, [read, sent, sent])).toEqual([]);
    expect(judge(keyed, { steps }, [read, sent, { ...sent, key: "other" }])).toHaveLength(1);
  });
});

describe("the figures of chaos", () => {
  const calm: Wreckage = {
    runs: 10,
    blows: { worker_kills: 3, zombies: 1, server_faults: 1, terminated: 1, cuts: 4 },
    sums: { takeovers: 2, fenced: 1, unknown_commits: 2, unknown_landed: 1, unknown_not_landed: 1 },
    in_doubt: 1,
    needless: 0,
    parked: 0,
    findings: [],
    violations: [],
  };

  it("have what a script reads, and nothing to complain about when all went well", () => {
    expect(complaints(calm)).toEqual([]);
    expect(figuresOf(calm)).toMatchObject({
      runs: 10,
      unknown_commits: 2,
      duplicates: 0,
      lost: 0,
      stuck: 0,
      violations: 0,
    });
  });

  it("complain about whatever was found, and about what was not shown", () => {
    expect(complaints({ ...calm, findings: [{ kind: "lost", what: "it" }] })).toEqual(["lost: it"]);
    expect(complaints({ ...calm, violations: ["it"] })).toHaveLength(1);
    expect(complaints({ ...calm, in_doubt: 0 })).toHaveLength(1);
    expect(complaints(calm, { ...once, worker_kills: 4 })).toHaveLength(1);
    expect(complaints({ ...calm, in_doubt: 40, needless: 4 })).toEqual([]);
    expect(complaints({ ...calm, in_doubt: 40, needless: 5 })).toHaveLength(1);
    expect(complaints({ ...calm, sums: { ...calm.sums, fenced: 0, unknown_landed: 0 } })).toHaveLength(2);
  });

  it.each([["--seconds", "0"], ["--workers", "many"], ["--often"]])("are not made from %s %s", (...args) => {
    expect(readArguments(args, 7)).toHaveProperty("wrong");
    expect(readArguments(["--workers", "2"], 7)).toMatchObject({ seed: 7, workers: 2, seconds: null, json: false });
  });
});
