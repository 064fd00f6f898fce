import { Command, InvalidArgumentError, Option } from "commander";
import type { Instant } from "../../core/values/ids.ts";
import { assertName } from "../../engine/api/read-principal.ts";
import { type ApiScope, scopes } from "../../http-api/api-route.ts";
import { type ApiKey, makeApiKey, readKeysFile, writeKeysFile } from "../../server/api-keys.ts";
import type { ExitCode } from "../exit-code.ts";
import { helpExample, type Invocation, invalidInput, parsePositiveNumber } from "../invocation.ts";
import { keysFilePath } from "../keys-file-path.ts";
import { line, tableLines } from "../safe-line.ts";
import { timeText } from "../time-text.ts";

interface KeysOptions {
  readonly keys?: string;
}

interface AddOptions extends KeysOptions {
  readonly kind: ApiKey["principal"]["kind"];
  readonly scope?: readonly ApiScope[];
  readonly days?: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export function keysCommand(invocation: Invocation): Command {
  const keys = new Command("keys")
    .description("the API keys of a server: who may send requests, and which")
    .addHelpText(
      "after",
      helpExample("writ keys add bot --scope submit --scope read", "writ keys list", "writ keys revoke 5f0c…"),
    );
  const file = (command: Command) => command.option("--keys <file>", "file of keys (default: beside the store)");
  keys.addCommand(addCommand(invocation, file(new Command("add"))).copyInheritedSettings(keys));
  keys.addCommand(listCommand(invocation, file(new Command("list"))).copyInheritedSettings(keys));
  keys.addCommand(revokeCommand(invocation, file(new Command("revoke"))).copyInheritedSettings(keys));
  return keys;
}

function addCommand(invocation: Invocation, command: Command): Command {
  command
    .description("make a key; its text is printed once, and only its hash is stored")
    .argument("<id>", "id of the principal that uses the key")
    .addOption(
      new Option("--kind <kind>", "the kind of principal").choices(["agent", "person", "service"]).default("agent"),
    )
    .option("--scope <scope>", `one of ${scopes.join(", ")}; may be repeated (default: read)`, addScope)
    .option("--days <n>", "days until the key expires (default: it does not)", parsePositiveNumber);
  return invocation.withAction<AddOptions>(command, async ([id = ""], options) => {
    const { kind, scope = ["read"], days, tenant = "default", role } = options;
    assertName(id, "the id");
    assertName(tenant, "the tenant");
    const path = await keysFilePath(options.keys, options, invocation.host.cwd);
    const now = Date.now();
    const principal = { id, kind, tenant, ...(role && { roles: role }) };
    const expires_at = days === undefined ? null : now + days * DAY_MS;
    const { key, text } = makeApiKey({ principal, scopes: scope, expires_at }, now);
    const known = readKeysFile(path);
    writeKeysFile(path, { ...known, keys: [...known.keys, key] });
    invocation.terminal.printResult({ key_id: key.key_id, key: text, principal, scopes: scope, expires_at }, () => [
      line`key ${key.key_id} of ${kind} ${id} in tenant ${tenant}: ${scope.join(", ")}`,
      line`keep it now, it is not shown again:`,
      line`  ${text}`,
    ]);
    return 0;
  });
}

function addScope(text: string, before: readonly ApiScope[] = []): readonly ApiScope[] {
  if (!scopes.includes(text as ApiScope)) throw new InvalidArgumentError(`It must be one of ${scopes.join(", ")}.`);
  return [...before, text as ApiScope];
}

function listCommand(invocation: Invocation, command: Command): Command {
  command.description("list the keys, without their secrets");
  return invocation.withAction<KeysOptions>(command, async (_, options): Promise<ExitCode> => {
    const { keys } = readKeysFile(await keysFilePath(options.keys, options, invocation.host.cwd));
    const { terminal } = invocation;
    terminal.printResult({ keys: keys.map(({ hash: _hash, ...shown }) => shown) }, () => {
      if (keys.length === 0) return [line`there are no keys; make one with writ keys add`];
      return tableLines(
        keys.map(({ key_id, principal, scopes: given, expires_at, revoked_at }) => [
          line`${key_id}`,
          line`${principal.kind} ${principal.id}`,
          line`${principal.tenant}`,
          line`${given.join(", ")}`,
          revoked_at === null
            ? line`${expires_at === null ? "" : `until ${timeText(expires_at as Instant, terminal.style)}`}`
            : line`revoked ${timeText(revoked_at as Instant, terminal.style)}`,
        ]),
      );
    });
    return 0;
  });
}

function revokeCommand(invocation: Invocation, command: Command): Command {
  command
    .description("revoke a key; running servers refuse it at once")
    .argument("<key>", "id of the key; see: writ keys list");
  return invocation.withAction<KeysOptions>(command, async ([key_id = ""], options): Promise<ExitCode> => {
    const path = await keysFilePath(options.keys, options, invocation.host.cwd);
    const known = readKeysFile(path);
    const found = known.keys.find((key) => key.key_id === key_id);
    if (found === undefined) throw invalidInput(`there is no key ${key_id} in ${path}; see: writ keys list`);
    const revoked = { ...found, revoked_at: found.revoked_at ?? Date.now() };
    writeKeysFile(path, { ...known, keys: known.keys.map((key) => (key === found ? revoked : key)) });
    invocation.terminal.printResult({ key_id, revoked_at: revoked.revoked_at }, () => [line`key ${key_id} is revoked`]);
    return 0;
  });
}
