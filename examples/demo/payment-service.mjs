// A payment service on loopback, outside Writ. It books a payment and never answers, as if the network had failed. It
// can be asked whether it has booked a payment, and answers once its list is current.
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

/** Starts the service. `onBooked` is called after each booking. The list is `currentAfterMs` behind. */
export async function startPaymentService(file, { currentAfterMs, onBooked }) {
  const server = createServer(async (request, response) => {
    const [, key = ""] = new URL(request.url, "http://localhost").pathname.split("/payments/");
    if (request.method === "GET") return answerLookup(response, decodeURIComponent(key));
    let body = "";
    for await (const chunk of request) body += chunk;
    appendFileSync(file, `${JSON.stringify({ ...JSON.parse(body), booked_at: Date.now() })}\n`);
    onBooked();
  });
  const answerLookup = async (response, key) => {
    const booked = bookedPayments(file);
    await sleep(Math.max(0, (booked.at(-1)?.booked_at ?? 0) + currentAfterMs - Date.now()), undefined, { ref: false });
    response.end(JSON.stringify({ payment: booked.find((each) => each.key === key) ?? null }));
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Returns the payments that the service has booked, oldest first. */
export function bookedPayments(file) {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
