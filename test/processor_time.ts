import process from 'node:process';

/**
 * Begins to count; gives the milliseconds that processors have worked for this process since.
 * Unlike the clock it counts nothing of what else a busy machine does.
 */
export function countProcessorTime(): () => number {
  const began = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  };
}

/**
 * Begins to watch this thread. The result has the most milliseconds that the thread has worked
 * without a turn for others on its event loop, and the additional memory of the process.
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
