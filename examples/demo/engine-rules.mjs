/** The rules of the demo. The server and the agents beside it use one store, so they have the same rules. */
export const engineRules = {
  // Payments of invoices are trusted here, so that their time-out is seen at once. Everything else that acts is held.
  tenants: { demo: { trust: ["invoice.pay", "invoice.pay_by_wire"] } },
  policies: [
    {
      schema_version: "1.0",
      name: "price-list",
      scope: { tenant: "demo" },
      rules: [
        {
          id: "published-files",
          kind: "approval",
          on: { tools: ["files.edit", "files.delete"] },
          reason: "a person reads each change of a published file",
        },
      ],
    },
  ],
};
