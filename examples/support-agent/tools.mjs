// The tools of the agent: one reads, one computes, one pays. A person approves a payment.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { defineTool } from "writ";
import { z } from "zod";

/** Returns the payments of the bank, which is a file. */
export function paymentsIn(bank) {
  if (!existsSync(bank)) return [];
  const lines = readFileSync(bank, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/**
 * `onPaid` is called after the bank has the payment, and before the tool answers. A bank that cannot be asked `verifies`
 * nothing: then a person finds out whether a payment in doubt was made.
 */
export function supportTools({ bank, onPaid, verifies = true }) {
  return [
    defineTool({
      name: "orders.find",
      effect: "reads",
      input: z.object({ order: z.number() }),
      output: z.object({ order: z.number(), cents: z.number() }),
      run: async ({ order }) => ({ order, cents: 1000 }),
    }),
    defineTool({
      name: "refund.amount",
      effect: "pure",
      input: z.object({ cents: z.number(), percent: z.number() }),
      output: z.object({ cents: z.number() }),
      run: ({ cents, percent }) => ({ cents: Math.floor((cents * percent) / 100) }),
    }),
    defineTool({
      name: "refund.pay",
      effect: "acts",
      identity: ["order"],
      input: z.object({ order: z.number(), cents: z.number() }),
      output: z.object({ paid: z.number() }),
      run: async ({ order, cents }, { key }) => {
        appendFileSync(bank, `${JSON.stringify({ order, cents, key })}\n`);
        await onPaid();
        return { paid: cents };
      },
      ...(verifies && {
        verify: ({ key }) => {
          const payment = paymentsIn(bank).find((each) => each.key === key);
          return payment === undefined ? { saw: "absent" } : { saw: "happened", output: { paid: payment.cents } };
        },
      }),
    }),
  ];
}
