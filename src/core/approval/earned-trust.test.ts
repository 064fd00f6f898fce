import { describe, expect, it } from "vitest";
import { type EarnedTrust, forfeitTrust, trustCondition, trustLossTally, trustTally } from "./earned-trust.ts";

const record: EarnedTrust = {
  tally: trustTally("mail.send", "robin"),
  earned: 3,
  lost: { tally: trustLossTally("mail.send", "robin"), times: 2 },
};

describe("earned trust", () => {
  it("is counted per tool and principal, and its losses are counted separately", () => {
    expect([record.tally, record.lost.tally]).toEqual(["trust/mail.send/robin", "trust-lost/mail.send/robin"]);
  });

  it("is reset to zero by a loss, which is counted", () => {
    expect(forfeitTrust(record)).toEqual({
      charges: [
        { tally: "trust/mail.send/robin", amount: -3 },
        { tally: "trust-lost/mail.send/robin", amount: 1 },
      ],
    });
  });

  it.each([undefined, { ...record, earned: 0 }, { ...record, earned: -1 }])("is not lost if there is none", (none) => {
    expect(forfeitTrust(none)).toEqual({});
  });

  it("allows a call without a charge, on condition that no further loss was counted", () => {
    expect(trustCondition(record)).toEqual({ tally: "trust-lost/mail.send/robin", amount: 0, limit: 2 });
  });
});
