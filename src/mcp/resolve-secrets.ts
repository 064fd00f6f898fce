import { FaultError, fault } from "../core/values/fault.ts";
import type { EnvironmentValue } from "./gateway-config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the values with the secrets that they name. `found` receives each secret, by name. */
export function resolveSecrets(
  server: string,
  values: Readonly<Record<string, EnvironmentValue>>,
  environment: Environment,
  found: Map<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      if (typeof value === "string") return [name, value];
      const secret = environment[value.secret];
      if (secret === undefined || secret === "") {
        const message = `MCP server ${server} needs the secret ${value.secret}; set it in the environment of the gateway`;
        throw new FaultError(fault("CONFIG_INVALID", message));
      }
      found.set(value.secret, secret);
      return [name, secret];
    }),
  );
}
