import { createHmac } from "node:crypto";
import { FaultError, fault } from "../core/values/fault.ts";
import { postJson } from "./post-json.ts";
import type { SendMessage } from "./recipient-queue.ts";

const SECRET_BYTES_MIN = 24;

/** Sends messages to a webhook, with the headers and the signature of the Standard Webhooks specification. */
export function webhook(address: string, secret: string, now: () => number): SendMessage {
  const key = Buffer.from(/^whsec_(.+)$/.exec(secret)?.[1] ?? "", "base64");
  if (key.length < SECRET_BYTES_MIN)
    throw new FaultError(
      fault(
        "CONFIG_INVALID",
        `notify: the secret of ${new URL(address).host} must be whsec_ and ${SECRET_BYTES_MIN} bytes or more in base64`,
      ),
    );
  return (message) => {
    const body = JSON.stringify(message);
    const seconds = String(Math.floor(now() / 1000));
    const signature = createHmac("sha256", key).update(`${message.id}.${seconds}.${body}`).digest("base64");
    return postJson(address, body, {
      "webhook-id": message.id,
      "webhook-timestamp": seconds,
      "webhook-signature": `v1,${signature}`,
    });
  };
}
