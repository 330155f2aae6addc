/**
 * After this many crashes without progress, only a worker without other runs claims the run. The
 * next crash is then certainly its own and ends no other run.
 */
export const break_offs_alone = 2;

/** After this many crashes without progress, a run is given up. */
export const break_offs_max = 5;

/**
 * Seconds that a run waits after its first, second, ... crash. None at first, because usually
 * another run caused it; in the end long enough for somebody to investigate.
 */
export const break_off_pauses_seconds = [0, 10, 60, 360] as const;

/** Message for the user of a run that was given up. */
export const broke_off_message =
  `The worker process ended ${break_offs_max} times during this run, the last ` +
  `${break_offs_max - break_offs_alone} times with no other run, and the run made no ` +
  'progress in between. Look in the system log why the process ended (often it is out of ' +
  'memory). Give it more resources, or make the run smaller (a lower max_file_size_mb, a ' +
  'narrower query, a shorter interval); then retry the run.';
