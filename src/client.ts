export {
  type ClientMethod,
  type ClientPart,
  client,
  type LastArgument,
  type PlainVerbs,
  type WhoAmI,
  type WithoutPrincipal,
  type WritClient,
} from "./client/client.ts";
export type { ClientOptions } from "./client/http-caller.ts";
export type { RemoteSession } from "./client/remote-session.ts";
export type { ApiScope } from "./http-api/api-route.ts";
