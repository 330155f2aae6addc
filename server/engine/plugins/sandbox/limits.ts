/** Resource limits of one plugin. */
export type SandboxLimits = {
  /**
   * Memory of its isolate. V8 may exceed it by a factor of two or three before it ends the isolate.
   */
  memory_megabytes: number;
  /** Time for which its code may run without yielding. */
  slice_milliseconds: number;
  /** Time limit of one call, including everything it awaits. */
  call_milliseconds: number;
  /** Processor time for one call. */
  cpu_milliseconds: number;
};

/** The default limits of a plugin. */
export const default_limits: SandboxLimits = {
  memory_megabytes: 64,
  slice_milliseconds: 1_000,
  call_milliseconds: 30_000,
  cpu_milliseconds: 5_000,
};

/**
 * The longest message between the server and the sandbox process, in both directions: room for the
 * longest text, each character of which may need six bytes in JSON.
 */
export const frame_bytes_max = 64 * 1024 * 1024;

/**
 * The longest text that crosses the border of an isolate: a call's payload or result, a request to
 * the platform or its answer. In UTF-16 units.
 */
export const text_length_max = 10 * 1024 * 1024;

/** Concurrent calls of one plugin: events that do not depend on each other. */
export const calls_max = 8;

/** Concurrent requests to the platform, for each call in progress; further ones wait. */
export const requests_open_max = 64;

/** The total length of a plugin's open requests. */
export const requests_open_length_max = 16 * 1024 * 1024;

/** Concurrent fetches of one plugin; further ones wait. */
export const fetches_max = 8;

/** Requests to the platform that one call may make. */
export const requests_per_call_max = 10_000;

/** Lines that one call may log; further ones are dropped, and one line says so. */
export const log_lines_per_call_max = 1_000;

/** The length to which a line of a plugin's log is cut. */
export const log_line_length_max = 4_096;

/** Timers that a plugin may have running, for each call in progress. */
export const timers_max = 100;

/** The length of one call's counts: a hundred metrics with the longest names. */
export const metrics_length_max = 256 * 1024;

/** The largest number, up or down, that one call may add to a metric. */
export const metric_max = 1e15;
