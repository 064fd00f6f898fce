import { describe, expect, it } from "vitest";
import { peerProblem } from "./peer-package.ts";

const ai = { name: "ai", tested: ["6", "7"] };
const claude = { name: "@anthropic-ai/claude-agent-sdk", tested: ["0.3"] };

describe("a peer package", () => {
  it.each([
    [ai, "6.0.326"],
    [ai, "7.0.0-beta.1"],
    [claude, "0.3.325"],
  ])("of a tested version is fine", (peer, version) => {
    expect(peerProblem(peer, version, "writ")).toBeNull();
  });

  it("that is missing is named in one sentence", () => {
    expect(peerProblem(ai, null, "writ/ai-sdk")).toBe(
      "writ/ai-sdk needs the package ai, which is not installed; run: npm install ai@7",
    );
  });

  it.each([
    [ai, "8.1.0", "writ/ai-sdk is tested with ai 6 and 7, and 8.1.0 is installed; run: npm install ai@7"],
    [ai, "60.0.0", "writ/ai-sdk is tested with ai 6 and 7, and 60.0.0 is installed; run: npm install ai@7"],
    [
      claude,
      "0.4.0",
      "writ/ai-sdk is tested with @anthropic-ai/claude-agent-sdk 0.3, and 0.4.0 is installed; run: npm install @anthropic-ai/claude-agent-sdk@0.3",
    ],
  ])("of an untested version is named in one sentence", (peer, version, sentence) => {
    expect(peerProblem(peer, version, "writ/ai-sdk")).toBe(sentence);
  });
});
