// Time spent on the document: stands still while the page is hidden or nobody does anything.

const IDLE = 60_000, STEP = 1000, REPORT = 30;

export class Timer extends EventTarget {
  constructor(seconds, send) {
    super();
    this.before = seconds;
    this.active = 0;
    this.reported = 0;
    this.send = send;
    this.touched = performance.now();
    for (const name of ["pointermove", "pointerdown", "keydown", "scroll", "wheel"]) {
      addEventListener(name, () => { this.touched = performance.now(); }, { passive: true });
    }
    setInterval(() => this.#tick(), STEP);
    document.addEventListener("visibilitychange", () => { if (document.hidden) this.report(); });
    addEventListener("pagehide", () => this.report());
  }

  get running() { return !document.hidden && performance.now() - this.touched < IDLE; }
  get seconds() { return this.before + this.active; }

  #tick() {
    if (!this.running) return;
    this.active += STEP / 1000;
    this.dispatchEvent(new Event("tick"));
    if (this.active - this.reported >= REPORT) this.report();
  }

  /** Seconds that could not be sent are sent with the next. */
  async report() {
    const seconds = this.active - this.reported;
    if (seconds <= 0) return;
    this.reported = this.active;
    try { await this.send(seconds); } catch { this.reported -= seconds; }
  }
}

export function clock(seconds) {
  const whole = Math.floor(seconds), two = n => String(n).padStart(2, "0");
  const hours = Math.floor(whole / 3600), minutes = Math.floor(whole / 60) % 60;
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}
