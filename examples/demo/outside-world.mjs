// The world that the demo acts on, outside Writ: a mail server, a bank and a payment service. It outlives every kill, and counts.
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { mailsIn, startMailServer } from "../outreach/mail-server.mjs";
import { paymentsIn } from "../support-agent/tools.mjs";
import { bookedPayments, startPaymentService } from "./payment-service.mjs";

/** `onEffect` is called when something has happened and its sender has no answer yet. Mails are answered after `answerMs`. */
export async function startOutsideWorld(folder, { answerMs, currentAfterMs, onEffect }) {
  const mailbox = join(folder, "mailbox");
  const bank = join(folder, "bank.jsonl");
  const invoices = join(folder, "invoices.jsonl");
  const mail = await startMailServer(mailbox, async () => {
    onEffect("mail");
    await sleep(answerMs);
  });
  const payments = await startPaymentService(invoices, { currentAfterMs, onBooked: () => onEffect("invoice") });
  return {
    mailbox,
    bank,
    smtpPort: mail.port,
    payments: payments.url,
    effects: () => ({ mails: mailsIn(mailbox), refunds: paymentsIn(bank), invoices: bookedPayments(invoices) }),
    close: () => Promise.all([mail.close(), payments.close()]),
  };
}
