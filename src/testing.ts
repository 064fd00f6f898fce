export { type FakeClock, fakeClock } from "./testing/clock.ts";
export { given, type Move, pass, type Told } from "./testing/given.ts";
export { type OpenStore, type StoreCheck, storeContract } from "./testing/store-contract.ts";
export { type ManualTimers, manualTimers } from "./testing/timers.ts";
