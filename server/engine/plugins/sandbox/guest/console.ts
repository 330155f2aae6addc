import { platform } from './bridge.ts';

type Log = (...parameters: unknown[]) => void;

const { stringify } = JSON;

/** The console of a plugin: its lines go to the plugin's log, with their level. */
export const console: Record<'debug' | 'log' | 'info' | 'warn' | 'error', Log> = {
  debug: (...parameters) => write('debug', parameters),
  log: (...parameters) => write('log', parameters),
  info: (...parameters) => write('info', parameters),
  warn: (...parameters) => write('warn', parameters),
  error: (...parameters) => write('error', parameters),
};

function write(level: string, parameters: unknown[]): void {
  platform.send('log', 0, level, parameters.map(describe).join(' '));
}

function describe(value: unknown): string {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return value.stack ?? value.message;
  try {
    return stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
