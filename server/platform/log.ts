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
 * A logger that writes a line for each entry to the stream: standard error unless another is given,
 * so that standard output stays free for what a command answers. Without a format, a terminal gets
 * text, and everything else JSON. Guarantee: request credentials and fields named password, secret
 * or token are replaced before a line is written; a line that is written while something is traced
 * has its `trace_id` and `span_id`.
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
 * Describes an error for the log. Only the fields named here: errors of clients carry whole
 * connections and statements.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    // The words say that a store is unreachable; a stack would only look like a fault of the code.
    ...(isStoreAway(error) ? {} : { stack: error.stack }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}

/** A logger that writes nothing, for tests that do not look at the log. */
export function silentLog(): Logger {
  return pino({ level: 'silent' });
}
