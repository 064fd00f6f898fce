export type { SimulatedGate, SimulatedStep, Simulation } from "../../core/event/simulation.ts";
