import { describe, it } from "vitest";
import { postgres } from "../src/store/postgres/postgres-store.ts";
import { storeContract } from "../src/testing/store-contract.ts";
import { database } from "./postgres/database.ts";

describe("the Postgres store", () => {
  const { url, empty } = lazily(database());
  for (const { title, check } of storeContract(async (setting) => {
    await empty();
    return postgres(url(), setting);
  }))
    it(title, check);
});

function lazily(made: ReturnType<typeof database>) {
  return { url: () => made.url, empty: made.empty };
}
