import type { Tenant } from "../../core/id.ts";

interface OfTenant {
  readonly tenant: Tenant;
}

interface Waiting<Given, Answer> {
  readonly given: Given;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * What is asked in one turn of the event loop is asked together, of each tenant by itself: a call for fifty costs hardly more than
 * a call for one. `nameOf` puts them in order, so that of two calls that lock the same neither waits for the other in a circle.
 */
export function gathered<Given extends OfTenant, Answer>(
  nameOf: (given: Given) => string,
  ask: (tenant: Tenant, all: readonly Given[]) => Promise<readonly Answer[]>,
): (given: Given) => Promise<Answer> {
  let waiting = new Map<Tenant, Waiting<Given, Answer>[]>();
  const flush = (): void => {
    const all = waiting;
    waiting = new Map();
    for (const [tenant, together] of all) void askFor(tenant, inOrder(together, nameOf), ask);
  };
  return (given) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(flush);
      const together = waiting.get(given.tenant) ?? [];
      together.push({ given, resolve, reject });
      waiting.set(given.tenant, together);
    });
}

function inOrder<Given, Answer>(
  together: readonly Waiting<Given, Answer>[],
  nameOf: (given: Given) => string,
): readonly Waiting<Given, Answer>[] {
  const named = together.map((waiting) => ({ waiting, name: nameOf(waiting.given) }));
  named.sort((left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0));
  return named.map(({ waiting }) => waiting);
}

async function askFor<Given, Answer>(
  tenant: Tenant,
  all: readonly Waiting<Given, Answer>[],
  ask: (tenant: Tenant, all: readonly Given[]) => Promise<readonly Answer[]>,
): Promise<void> {
  try {
    const answers = await ask(
      tenant,
      all.map(({ given }) => given),
    );
    for (const [index, { resolve }] of all.entries()) resolve(answers[index] as Answer);
  } catch (error) {
    for (const { reject } of all) reject(error);
  }
}
