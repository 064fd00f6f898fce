import type { FunctionComponent } from "preact";

export type NavGroup = "Decide" | "Work" | "Rules" | "Operate";

/** A page of the console. Its code is loaded when the page is opened. */
export interface ConsolePage {
  /** As in `consolePaths`: parts that begin with a colon are arguments, which `useRoute().params` has. */
  readonly path: string;
  readonly title: string;
  /** Where the navigation lists it. Null: other pages link to it. */
  readonly group: NavGroup | null;
  /** Only a server that the demo started has the page. */
  readonly isDemo?: true;
  readonly load: () => Promise<FunctionComponent>;
}

/** Every page. One entry is one chunk of the build. */
export const pages: readonly ConsolePage[] = [
  {
    path: "/demo",
    title: "Demo",
    group: "Decide",
    isDemo: true,
    load: async () => (await import("../pages/demo/demo-page.tsx")).DemoPage,
  },
  {
    path: "/demo/mailbox",
    title: "Mailbox",
    group: null,
    isDemo: true,
    load: async () => (await import("../pages/demo/mailbox-page.tsx")).MailboxPage,
  },
  {
    path: "/",
    title: "Inbox",
    group: "Decide",
    load: async () => (await import("../pages/inbox/inbox-page.tsx")).InboxPage,
  },
  {
    path: "/gates/:id",
    title: "Held call",
    group: null,
    load: async () => (await import("../pages/gate/gate-page.tsx")).GatePage,
  },
  {
    path: "/runs",
    title: "Runs",
    group: "Work",
    load: async () => (await import("../pages/runs/runs-page.tsx")).RunsPage,
  },
  {
    path: "/runs/:id",
    title: "Run",
    group: null,
    load: async () => (await import("../pages/run/run-page.tsx")).RunPage,
  },
  {
    path: "/sessions/:id",
    title: "Session",
    group: null,
    load: async () => (await import("../pages/session/session-page.tsx")).SessionPage,
  },
  {
    path: "/new",
    title: "New run",
    group: "Work",
    load: async () => (await import("../pages/new-run/new-run-page.tsx")).NewRunPage,
  },
  {
    path: "/projects",
    title: "Projects",
    group: "Work",
    load: async () => (await import("../pages/projects/projects-page.tsx")).ProjectsPage,
  },
  {
    path: "/projects/:id",
    title: "Project",
    group: null,
    load: async () => (await import("../pages/project/project-page.tsx")).ProjectPage,
  },
  {
    path: "/tools",
    title: "Tools",
    group: "Rules",
    load: async () => (await import("../pages/tools/tools-page.tsx")).ToolsPage,
  },
  {
    path: "/policies",
    title: "Policies",
    group: "Rules",
    load: async () => (await import("../pages/policies/policies-page.tsx")).PoliciesPage,
  },
  {
    path: "/usage",
    title: "Usage",
    group: "Operate",
    load: async () => (await import("../pages/usage/usage-page.tsx")).UsagePage,
  },
  {
    path: "/schedules",
    title: "Schedules",
    group: "Operate",
    load: async () => (await import("../pages/schedules/schedules-page.tsx")).SchedulesPage,
  },
  {
    path: "/workers",
    title: "Workers",
    group: "Operate",
    load: async () => (await import("../pages/workers/workers-page.tsx")).WorkersPage,
  },
  {
    path: "/audit",
    title: "Audit",
    group: "Operate",
    load: async () => (await import("../pages/audit/audit-page.tsx")).AuditPage,
  },
];
