import { RefusedMessage } from "./recipient-queue.ts";

const SEND_MS = 10_000;

/** Posts a body of JSON. Redirects are not followed: they could lead the message elsewhere. */
export async function postJson(
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { host } = new URL(address);
  const response = await fetch(address, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", "user-agent": "writ", ...headers },
    redirect: "manual",
    signal: AbortSignal.timeout(SEND_MS),
  }).catch((error: unknown) => {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const text = `${host} did not answer (${cause instanceof Error ? cause.message : String(cause)})`;
    throw isUnconnected(cause) ? new RefusedMessage(text) : new Error(text);
  });
  await response.body?.cancel();
  if (!response.ok) throw new RefusedMessage(`${host} answered ${response.status}`);
}

/** The connection was not made, so nothing was sent. */
export function isUnconnected(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"].includes(code);
}
