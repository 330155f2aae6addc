import sql from 'sql-template-tag';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import { openSecretMask } from './secret_mask.ts';
import type { SecretMask } from './secret_mask.ts';

/** Levels of stored log lines. */
export type LogLevel = 'DEBUG' | 'INFO' | 'WARNING' | 'ERROR';

/** The log of one config; its mask removes secrets from all lines. */
export type PluginLog = SecretMask & {
  /** Adds a line, which is stored within a second. Never throws. */
  write(level: LogLevel, message: string): void;
  /** Stores the lines now. Never rejects: a log that cannot be stored stops no plugin. */
  flush(): Promise<void>;
};

type Line = { level: LogLevel; message: string };

const lines_kept_max = 10_000;
const lines_per_minute_max = 2_000;
const message_length_max = 5_000;
const flush_pause_ms = 1_000;

/**
 * Opens a config's log: it accepts at most 2,000 lines a minute (one line says that there were
 * more), and keeps the latest 10,000. `now` is in milliseconds.
 */
export function openPluginLog(
  db: Database,
  log: Logger,
  config_id: number,
  now: () => number,
): PluginLog {
  const { hide, mask } = openSecretMask();
  let lines: Line[] = [];
  let minute = 0;
  let taken = 0;
  let timer: NodeJS.Timeout | undefined;
  // Chained, so that the lines are stored in order.
  let storing: Promise<void> = Promise.resolve();
  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    storing = storing.then(store);
    return storing;
  };
  const take = (level: LogLevel, message: string) => {
    lines.push({
      level,
      message: mask(message).replaceAll('\0', '\u{fffd}').slice(0, message_length_max),
    });
    timer ??= setTimeout(() => void flush(), flush_pause_ms);
  };
  const store = async (): Promise<void> => {
    if (lines.length === 0) return;
    const written = lines;
    lines = [];
    try {
      await storeLines(db, config_id, written);
    } catch (error) {
      log.warn(
        { err: error, plugin_config_id: config_id, lines: written.length },
        'lines of a plugin could not be stored',
      );
    }
  };
  return {
    hide,
    mask,
    write: (level, message) => {
      const present = Math.floor(now() / 60_000);
      if (present !== minute) [minute, taken] = [present, 0];
      taken += 1;
      if (taken <= lines_per_minute_max) take(level, message);
      else if (taken === lines_per_minute_max + 1)
        take(
          'WARNING',
          `The plugin logs more than ${lines_per_minute_max} lines a minute; further ones of ` +
            'this minute are dropped.',
        );
    },
    flush,
  };
}

/** Keeps the latest 10,000 lines. */
async function storeLines(db: Database, config_id: number, lines: Line[]): Promise<void> {
  await db.run(sql`
    INSERT INTO plugin_logs (plugin_config_id, level, message)
    SELECT ${config_id}, line.level, line.message FROM unnest(
        ${lines.map(({ level }) => level)}::text[],
        ${lines.map(({ message }) => message)}::text[]
      ) WITH ORDINALITY AS line (level, message, number) ORDER BY line.number`);
  // The index plugin_logs_by_config leads directly to the newest line to delete.
  await db.run(sql`
    DELETE FROM plugin_logs WHERE plugin_config_id = ${config_id} AND id <= (
      SELECT id FROM plugin_logs WHERE plugin_config_id = ${config_id}
        ORDER BY id DESC OFFSET ${lines_kept_max} LIMIT 1)`);
}
