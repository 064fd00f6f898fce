import { httpLimits } from "./http-limits.ts";

/** Counts the failed logins of each address, so that secrets cannot be guessed. */
export class FailedLogins {
  readonly #now: () => number;
  #since = 0;
  #counts = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(address: string): void {
    this.#turn();
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
  }

  isBlocked(address: string): boolean {
    this.#turn();
    return (this.#counts.get(address) ?? 0) >= httpLimits.failedLogins;
  }

  #turn(): void {
    if (this.#now() - this.#since < httpLimits.failedLoginsMs) return;
    this.#since = this.#now();
    this.#counts = new Map();
  }
}
