import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { isPlainObject } from "../core/json/plain-object.ts";
import { FaultError, fault } from "../core/values/fault.ts";
import type { PrincipalInput } from "../engine/api/principal-input.ts";
import { type ApiScope, scopes } from "../http-api/api-route.ts";
import { type Authenticator, assertScopesFit, type Credential } from "./credential.ts";

/** An API key as the file of keys holds it: without its secret. */
export interface ApiKey {
  readonly key_id: string;
  /** The SHA-256 of the secret. The secret has 256 random bits, so a slow hash adds nothing. */
  readonly hash: string;
  readonly principal: PrincipalInput;
  readonly scopes: readonly ApiScope[];
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}

const keyForm = /^writ_([a-z0-9]{12})_([A-Za-z0-9_-]{43})$/;

function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Makes a key. Its text is shown once. */
export function makeApiKey(
  given: Pick<ApiKey, "principal" | "scopes" | "expires_at">,
  now: number,
): { readonly key: ApiKey; readonly text: string } {
  assertScopesFit(given.principal, given.scopes);
  const key_id = randomBytes(6).toString("hex");
  const secret = randomBytes(32).toString("base64url");
  const key = { ...given, key_id, hash: hashOf(secret), created_at: now, revoked_at: null };
  return { key, text: `writ_${key_id}_${secret}` };
}

/** The keys of a server, and the secret that signs the cookies of browsers. */
export interface KeysFile {
  readonly cookie_secret: string;
  readonly keys: readonly ApiKey[];
}

/** Reads a file of keys. A missing file has none. Throws CONFIG_INVALID if it is damaged, or other users may read it. */
export function readKeysFile(path: string): KeysFile {
  if (!existsSync(path)) return { cookie_secret: randomBytes(32).toString("base64url"), keys: [] };
  if ((statSync(path).mode & 0o077) !== 0) throw unusable(path, "other users may read or change it; chmod 600 it");
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, "utf8"));
  } catch {
    throw unusable(path, "it is not JSON");
  }
  if (!isKeysFile(parsed)) throw unusable(path, "it is no file of keys; make it with writ keys add");
  for (const { principal, scopes: given } of parsed.keys) assertScopesFit(principal, given);
  return parsed;
}

function isKeysFile(value: unknown): value is KeysFile {
  if (!isPlainObject(value) || !Array.isArray(value.keys) || !value.keys.every(isKey)) return false;
  return typeof value.cookie_secret === "string" && value.cookie_secret.length >= 43;
}

function isKey(value: unknown): boolean {
  if (!isPlainObject(value) || !isPlainObject(value.principal)) return false;
  const { key_id, hash, scopes: given, expires_at, revoked_at } = value;
  const isTime = (time: unknown) => time === null || typeof time === "number";
  return (
    typeof key_id === "string" &&
    typeof hash === "string" &&
    Array.isArray(given) &&
    given.every((scope) => scopes.includes(scope as ApiScope)) &&
    isTime(expires_at) &&
    isTime(revoked_at)
  );
}

function unusable(path: string, why: string): FaultError {
  return new FaultError(fault("CONFIG_INVALID", `the file of keys ${path} cannot be used: ${why}`));
}

/** Writes a file of keys whole: a reader sees the old keys or the new ones. */
export function writeKeysFile(path: string, file: KeysFile): void {
  const written = `${path}.${process.pid}.tmp`;
  const target = openSync(written, "w", 0o600);
  try {
    writeSync(target, `${JSON.stringify(file, null, 2)}\n`);
    fsyncSync(target);
  } finally {
    closeSync(target);
  }
  chmodSync(written, 0o600);
  renameSync(written, path);
}

/** Authenticates by API keys. `read` is called for each request, so that a revoked key is refused at once. */
export function apiKeys(read: () => readonly ApiKey[], now: () => number): Authenticator {
  return ({ bearer }): Credential | null => {
    const [, key_id, secret = ""] = keyForm.exec(bearer ?? "") ?? [];
    if (key_id === undefined) return null;
    const key = read().find((candidate) => candidate.key_id === key_id);
    // Compared also if there is no such key, so that the time tells nothing.
    const isRight = timingSafeEqual(
      Buffer.from(hashOf(secret)),
      Buffer.from(key?.hash.padEnd(64, "0").slice(0, 64) ?? hashOf("")),
    );
    if (key === undefined || !isRight || key.revoked_at !== null) return null;
    if (key.expires_at !== null && key.expires_at <= now()) return null;
    return { principal: key.principal, scopes: key.scopes };
  };
}

/** Returns a reader of a file of keys that reads it again when it has changed. */
export function keysFileReader(path: string): () => readonly ApiKey[] {
  let known: { readonly mark: string; readonly keys: readonly ApiKey[] } | null = null;
  return () => {
    const stat = existsSync(path) ? statSync(path, { bigint: true }) : null;
    const mark = stat === null ? "" : `${stat.ino} ${stat.mtimeNs} ${stat.size}`;
    if (known?.mark !== mark) known = { mark, keys: readKeysFile(path).keys };
    return known.keys;
  };
}
