import type { Notice } from "../../core/event/event.ts";
import type { RunId, Tenant } from "../../core/values/ids.ts";

/** A notice as `onNotice` gets it: with its run, and the tenant of the run. */
export type DeliveredNotice = Notice & { readonly run_id: RunId; readonly tenant: Tenant };
