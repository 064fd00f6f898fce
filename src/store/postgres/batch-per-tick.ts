import type { Tenant } from "../../core/values/ids.ts";

interface TenantRequest {
  readonly tenant: Tenant;
}

interface PendingRequest<Request, Answer> {
  readonly request: Request;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Sends the requests of one turn of the event loop together, in one call per tenant: a call for fifty costs hardly more
 * than a call for one. Requests are sorted by `nameOf`, so calls that lock the same rows lock them in one order and
 * cannot deadlock.
 */
export function batchPerTick<Request extends TenantRequest, Answer>(
  nameOf: (request: Request) => string,
  send: (tenant: Tenant, requests: readonly Request[]) => Promise<readonly Answer[]>,
): (request: Request) => Promise<Answer> {
  let waiting = new Map<Tenant, PendingRequest<Request, Answer>[]>();
  const flush = (): void => {
    const batches = waiting;
    waiting = new Map();
    for (const [tenant, pending] of batches) void answerRequests(tenant, sortByName(pending, nameOf), send);
  };
  return (request) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(flush);
      const pending = waiting.get(request.tenant) ?? [];
      pending.push({ request, resolve, reject });
      waiting.set(request.tenant, pending);
    });
}

function sortByName<Request, Answer>(
  requests: readonly PendingRequest<Request, Answer>[],
  nameOf: (request: Request) => string,
): readonly PendingRequest<Request, Answer>[] {
  const named = requests.map((pending) => ({ pending, name: nameOf(pending.request) }));
  named.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
  return named.map(({ pending }) => pending);
}

async function answerRequests<Request, Answer>(
  tenant: Tenant,
  pending: readonly PendingRequest<Request, Answer>[],
  send: (tenant: Tenant, requests: readonly Request[]) => Promise<readonly Answer[]>,
): Promise<void> {
  try {
    const answers = await send(
      tenant,
      pending.map(({ request }) => request),
    );
    for (const [index, { resolve }] of pending.entries()) resolve(answers[index] as Answer);
  } catch (error) {
    for (const { reject } of pending) reject(error);
  }
}
