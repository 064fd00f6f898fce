// Two tools that pay an invoice by a service that never answers. Both calls time out, so both payments are in doubt.
import { defineTool } from "writ";
import { z } from "zod";

const invoice = {
  effect: "acts",
  identity: ["invoice"],
  timeoutMs: 4000,
  settleAfter: 1000,
  input: z.object({ invoice: z.string(), to: z.string(), cents: z.number().int().positive() }),
  output: z.object({ paid: z.number() }),
};

/** `payments` is the address of the service. */
export function paymentTools({ payments }) {
  const run = async (input, { key, signal }) => {
    const body = JSON.stringify({ ...input, key });
    const response = await fetch(`${payments}/payments`, { method: "POST", body, signal });
    return response.json();
  };
  return [
    defineTool({
      name: "invoice.pay",
      ...invoice,
      run,
      // The service can be asked by the key of the call. It answers once its list is current.
      verify: async ({ key }) => {
        const response = await fetch(`${payments}/payments/${encodeURIComponent(key)}`);
        const { payment } = await response.json();
        return payment === null ? { saw: "absent" } : { saw: "happened", output: { paid: payment.cents } };
      },
    }),
    // This one offers no lookup, so a person has to find out.
    defineTool({ name: "invoice.pay_by_wire", ...invoice, run }),
  ];
}
