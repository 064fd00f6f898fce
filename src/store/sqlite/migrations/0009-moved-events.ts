import { countOldEvents, moveOldEvents } from "../move-old-events.ts";

export const movedEventsMigration = {
  number: 9,
  name: "0009-moved-events",
  pieces: { count: countOldEvents, move: moveOldEvents },
  sql: `
drop table old_event;
drop table old_head;
`,
};
