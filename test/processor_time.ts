import process from 'node:process';

/**
 * Starts to count; the result returns the processor time of this process since then, in
 * milliseconds. Other load on the machine does not count.
 */
export function countProcessorTime(): () => number {
  const began = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  };
}

/**
 * Starts to watch this thread. The result has the longest processor time of a turn of its event
 * loop in milliseconds, and the additional memory of the process.
 */
export function watchThread(): () => { turn_ms: number; grown_bytes: number } {
  const worked = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  const rss = process.memoryUsage.rss();
  const found = { turn_ms: 0, grown_bytes: 0 };
  let before = worked();
  const look = () => {
    const now = worked();
    found.turn_ms = Math.max(found.turn_ms, now - before);
    found.grown_bytes = Math.max(found.grown_bytes, process.memoryUsage.rss() - rss);
    before = now;
  };
  const timer = setInterval(look, 1);
  return () => {
    clearInterval(timer);
    look();
    return found;
  };
}
