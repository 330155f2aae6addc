import { levels } from 'pino';
import { terminalText } from './terminal_text.ts';

/** Fields that each line shows in a fixed place, or that never change within a process. */
const placed = new Set(['time', 'level', 'pid', 'hostname', 'msg', 'err']);

/**
 * Formats a line of the log for people: time in UTC, level, message, the other fields as
 * `name=value`, and below it the error with its stack. Control characters are escaped, so that an
 * entry can neither move the cursor nor look like two.
 */
export function logText(json: string): string {
  const entry = JSON.parse(json) as Record<string, unknown> & { msg?: string };
  const time = new Date(Number(entry['time'])).toISOString();
  const level = (levels.labels[Number(entry['level'])] ?? '').toUpperCase().padEnd(5);
  const fields = Object.entries(entry)
    .filter(([name]) => !placed.has(name))
    .map(([name, value]) => `${name}=${shown(value)}`);
  const words = [time, level, written(entry.msg ?? ''), ...fields].join(' ');
  return `${[words, ...errorLines(entry['err'])].join('\n')}\n`;
}

/** Formats a value, without quotes if its end is clear. */
function shown(value: unknown): string {
  if (typeof value === 'string' && /^[\w.:/@+-]+$/.test(value)) return value;
  return written(JSON.stringify(value));
}

type LoggedError = { type?: string; message?: string; stack?: string; cause?: LoggedError };

/** Formats an error and its causes, indented; the stack includes type and message. */
function errorLines(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return [];
  const { type, message, stack = `${type ?? 'Error'}: ${message}`, cause } = error as LoggedError;
  const own = stack.split('\n').map((line) => `  ${written(line)}`);
  const [first = '', ...more] = errorLines(cause);
  return cause === undefined ? own : [...own, `  caused by ${first.trim()}`, ...more];
}

/** Formats one line: an entry may not look like two. */
function written(text: string): string {
  return terminalText(text).replaceAll('\n', '\\n');
}
