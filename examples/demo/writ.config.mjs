// The config of the server of the demo. The supervisor starts `writ serve` with it, and passes its settings.
import { HostFilesystem } from "writ/files";
import { outreachTools } from "../outreach/tools.mjs";
import { demoSettings } from "./demo-settings.mjs";
import { engineRules } from "./engine-rules.mjs";
import { fileTools } from "./file-tools.mjs";
import { paymentTools } from "./payment-tools.mjs";

const { store, mailbox, smtpPort, payments, tree, supervisor } = demoSettings();

// The server ends with its supervisor, also if that is killed.
process.once("disconnect", () => process.exit(1));
process.channel?.unref();

export default {
  store,
  tools: [
    ...outreachTools({ port: smtpPort, mailbox, timeoutMs: 12_000 }),
    ...fileTools({ tree }),
    ...paymentTools({ payments }),
  ],
  resources: { files: new HostFilesystem({ root: tree }) },
  principal: { id: "demo-agent", kind: "agent", tenant: "demo" },
  ...engineRules,
  server: { demo: supervisor },
};
