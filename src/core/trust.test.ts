import { describe, expect, it } from "vitest";
import { forfeited, lossTally, reliedOn, type TrustRecord, trustTally } from "./trust.ts";

const record: TrustRecord = {
  tally: trustTally("mail.send", "robin"),
  earned: 3,
  lost: { tally: lossTally("mail.send", "robin"), times: 2 },
};

describe("trust that was earned", () => {
  it("is counted by tool and by whom, apart from how often it was lost", () => {
    expect([record.tally, record.lost.tally]).toEqual(["trust/mail.send/robin", "trust-lost/mail.send/robin"]);
  });

  it("is lost as a whole, and that it was is counted", () => {
    expect(forfeited(record)).toEqual({
      charges: [
        { tally: "trust/mail.send/robin", amount: -3 },
        { tally: "trust-lost/mail.send/robin", amount: 1 },
      ],
    });
  });

  it.each([undefined, { ...record, earned: 0 }, { ...record, earned: -1 }])(
    "cannot be lost where there is none",
    (none) => {
      expect(forfeited(none)).toEqual({});
    },
  );

  it("lets a call through for nothing, while it was not lost once more", () => {
    expect(reliedOn(record)).toEqual({ tally: "trust-lost/mail.send/robin", amount: 0, limit: 2 });
  });
});
