import { describe, expect, it } from "vitest";
import type { LiveWorker } from "../store/store.ts";
import type { Digest, WorkerId } from "../values/ids.ts";
import { missingWorker, requirementText } from "./missing-worker.ts";
import { noticeRequirement } from "./worker-requirements.ts";

const [ours, theirs] = ["ours", "theirs"] as unknown as readonly [Digest, Digest];
const mail = "mail.send@1.0:aaaa:bbbb";

const worker = (id: string, rules: Digest | null, ...offers: readonly string[]): LiveWorker => ({
  worker: id as WorkerId,
  rules,
  offers,
  process: { version: "1", host: "here", pid: 1 },
});

describe("the worker that a run misses", () => {
  it.each([
    ["none, if a worker with its rules has the tool", [worker("a", ours, mail)], [mail], null],
    ["none, if no worker has its rules and one has the tool", [worker("a", theirs, mail)], [mail], null],
    ["none, if it needs nothing and a worker lives", [worker("a", theirs)], [], null],
    ["any, if none lives", [], [mail], "NO_WORKER"],
    ["any, if all retire", [worker("a", null)], [], "NO_WORKER"],
    ["one with the tool", [worker("a", ours)], [mail], "TOOL_MISSING"],
    ["one with the tool as it was", [worker("a", ours, "mail.send@1.0:cccc")], [mail], "TOOL_CHANGED"],
    ["one that delivers notices", [worker("a", ours, mail)], [noticeRequirement], "NO_NOTICES"],
    ["one with pinned rules", [worker("a", theirs)], ["rules@ours"], "RULES_MISSING"],
    ["one with its rules and the tool", [worker("a", ours), worker("b", theirs, mail)], [mail], "RULES_ELSEWHERE"],
  ] as const)("is %s", (_, workers, needs, expected) => {
    expect(missingWorker({ rules: ours, needs }, workers)?.reason_code ?? null).toBe(expected);
  });

  it("names the workers that have what it needs, and those that have its rules", () => {
    const workers = [worker("a", ours), worker("b", theirs, mail), worker("c", theirs)];
    expect(missingWorker({ rules: ours, needs: [mail] }, workers)).toMatchObject({
      with_needs: ["b"],
      with_rules: ["a"],
    });
  });

  it("is any worker for a run without rules", () => {
    expect(missingWorker({ needs: [mail] }, [worker("a", ours), worker("b", theirs, mail)])).toBeNull();
  });

  it("is shown without digests", () => {
    expect([mail, noticeRequirement].map(requirementText)).toEqual(["mail.send@1.0", "notice"]);
  });
});
