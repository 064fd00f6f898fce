/** Returns the settings that the supervisor passes to a process that it starts. */
export function demoSettings() {
  const settings = process.env.WRIT_DEMO;
  if (settings === undefined) throw new Error("this program is started by npm start");
  return JSON.parse(settings);
}
