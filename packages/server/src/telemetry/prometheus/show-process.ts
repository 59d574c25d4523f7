/** Metrics of the process, read when they are collected, so that they never wake an idle server. */
import { Counter, Gauge, type Registry } from 'prom-client';

export function showProcess(registry: Registry): void {
  const registers = [registry];
  const startedSeconds = Date.now() / 1_000 - process.uptime();
  let busy = performance.eventLoopUtilization();
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When this process started, in UNIX seconds.',
    registers,
    collect() {
      this.set(startedSeconds);
    },
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time that this process took.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of this process.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'nodejs_eventloop_utilization',
    help: 'Share of time that the event loop was busy since somebody asked last.',
    registers,
    collect() {
      const now = performance.eventLoopUtilization();
      this.set(performance.eventLoopUtilization(now, busy).utilization);
      busy = now;
    },
  });
}
