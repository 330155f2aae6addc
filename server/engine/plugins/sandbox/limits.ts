/** Resource limits of one plugin. */
export type SandboxLimits = {
  /**
   * Memory of its isolate. V8 may overshoot it by a factor of two or three before it ends the
   * isolate.
   */
  memory_megabytes: number;
  /** Time for which its code may run without yielding. */
  slice_milliseconds: number;
  /** Time limit of one call with everything that it awaits. */
  call_milliseconds: number;
  /** Time of the processor for one call. */
  cpu_milliseconds: number;
};

/** The limits of a plugin for which nothing else is said. */
export const default_limits: SandboxLimits = {
  memory_megabytes: 64,
  slice_milliseconds: 1_000,
  call_milliseconds: 30_000,
  cpu_milliseconds: 5_000,
};

/**
 * The longest message between the server and the sandbox process, either way: room for the longest
 * text, each character of which JSON can make six bytes of.
 */
export const frame_bytes_max = 64 * 1024 * 1024;

/**
 * The longest text that crosses the border of an isolate: a call's payload or result, a request to
 * the platform or its answer. In UTF-16 units.
 */
export const text_length_max = 10 * 1024 * 1024;

/**
 * Calls of one plugin that the platform has under way at a time: events that do not have to wait
 * for each other.
 */
export const calls_max = 8;

/**
 * Requests to the platform that are done for a plugin at a time, for each call that is under way;
 * further ones wait.
 */
export const requests_open_max = 64;

/** The length of the texts of all requests that one plugin has open. */
export const requests_open_length_max = 16 * 1024 * 1024;

/** Fetches that are done for one plugin at a time; further ones wait. */
export const fetches_max = 8;

/** Requests to the platform that one call may make. */
export const requests_per_call_max = 10_000;

/** Lines that one call may log; further ones are dropped, and one line says so. */
export const log_lines_per_call_max = 1_000;

/** The length to which a line of a plugin's log is cut. */
export const log_line_length_max = 4_096;

/** Timers that a plugin may have running, for each call that is under way. */
export const timers_max = 100;

/** The length of what one call counts: a hundred metrics with the longest names. */
export const metrics_length_max = 256 * 1024;

/** The largest number, up or down, that one call may add to a metric. */
export const metric_max = 1e15;
