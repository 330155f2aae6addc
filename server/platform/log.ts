import { pino } from 'pino';
import type { DestinationStream, Logger as PinoLogger } from 'pino';
import { logText } from './log_text.ts';
import { isStoreAway } from './store_away.ts';
import { traceFields } from './tracing/span.ts';

/** Structured log of one process: JSON lines, one object each. */
export type Logger = PinoLogger;

const secretPaths = [
  'req.headers.authorization',
  'req.headers.cookie',
  '*.password',
  '*.secret',
  '*.token',
];

/** The form of a line: JSON for programs, text for people. */
export type LogFormat = 'json' | 'text';

/**
 * Opens a logger that writes a line for each entry to the stream. The default is standard error, so
 * that standard output stays free for a command's answer. Without a format, a terminal gets text,
 * and any other stream JSON. Guarantee: request credentials and fields named password, secret or
 * token are masked before a line is written; a line within a trace has its `trace_id` and
 * `span_id`.
 */
export function openLog(
  level: string,
  format: LogFormat = process.stderr.isTTY ? 'text' : 'json',
  stream: DestinationStream = pino.destination({ dest: 2, sync: false }),
): Logger {
  return pino(
    {
      level,
      mixin: traceFields,
      serializers: { err: describeError },
      redact: { paths: secretPaths, censor: '[hidden]' },
    },
    format === 'json' ? stream : { write: (line) => stream.write(logText(line)) },
  );
}

/**
 * Describes an error for the log. Only the fields listed here: errors of clients contain whole
 * connections and statements.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    // The message says that a store is unreachable; a stack would look like a bug.
    ...(isStoreAway(error) ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** Returns a logger that writes nothing, for tests that do not check the log. */
export function silentLog(): Logger {
  return pino({ level: 'silent' });
}
