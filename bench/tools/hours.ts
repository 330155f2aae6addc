import sql from 'sql-template-tag';
import { openDatabase } from '../../server/platform/postgres/database.ts';

/** Each second, it moves the next attempt at the tool one hour earlier. */
export function hourEachSecond(database_url: string, id: number): { stop(): Promise<number> } {
  const db = openDatabase(database_url, { connections_max: 1, application_name: 'bench' });
  let hours = 0;
  const timer = setInterval(() => {
    hours += 1;
    void db.run(sql`UPDATE plugin_cursors SET retry_at = retry_at - interval '1 hour'
      WHERE plugin_config_id = ${id}`);
  }, 1_000);
  return {
    stop: async () => {
      clearInterval(timer);
      await db.close();
      return hours;
    },
  };
}
