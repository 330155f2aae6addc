import sql from 'sql-template-tag';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';

/** The counters of one config. */
type PluginMetrics = {
  /**
   * Adds the counts of a call; ignores names that the installed version does not export. Never
   * throws.
   */
  count(values: Record<string, number>): void;
  /**
   * Adds the new counts to the stored ones. Never rejects: counts that cannot be stored now are
   * retried.
   */
  flush(): Promise<void>;
};

/**
 * Opens a config's counters. Drops stored ones that the version no longer exports, or exports with
 * another operation. `operations`: name -> sum, max or min.
 */
export async function openPluginMetrics(
  db: Database,
  log: Logger,
  config_id: number,
  operations: Record<string, string>,
): Promise<PluginMetrics> {
  const names = Object.keys(operations);
  const kinds = Object.values(operations);
  await db.run(sql`
    DELETE FROM plugin_metrics m WHERE m.plugin_config_id = ${config_id} AND NOT EXISTS (
      SELECT 1 FROM unnest(${names}::text[], ${kinds}::text[]) AS kept (name, operation)
      WHERE kept.name = m.name AND kept.operation = m.operation)`);
  let counted = new Map<string, number>();
  const add = (name: string, value: number): void => {
    const before = counted.get(name);
    counted.set(name, before === undefined ? value : joined(operations[name]!, before, value));
  };
  return {
    count: (values) => {
      for (const [name, value] of Object.entries(values))
        if (Object.hasOwn(operations, name)) add(name, value);
    },
    flush: async () => {
      if (counted.size === 0) return;
      const written = [...counted];
      counted = new Map();
      try {
        await addMetrics(
          db,
          config_id,
          written.map(([name, value]) => ({ name, operation: operations[name]!, value })),
        );
      } catch (error) {
        for (const [name, value] of written) add(name, value);
        log.warn(
          { err: error, plugin_config_id: config_id },
          'the metrics of a plugin could not be stored',
        );
      }
    },
  };
}

function joined(operation: string, one: number, other: number): number {
  if (operation === 'sum') return one + other;
  return operation === 'max' ? Math.max(one, other) : Math.min(one, other);
}

/** Drops metrics of a config that was deleted meanwhile. */
async function addMetrics(
  db: Database,
  config_id: number,
  rows: { name: string; operation: string; value: number }[],
): Promise<void> {
  const names = rows.map(({ name }) => name);
  const kinds = rows.map(({ operation }) => operation);
  const values = rows.map(({ value }) => value);
  await db.run(sql`
    INSERT INTO plugin_metrics AS m (plugin_config_id, name, operation, value)
    SELECT c.id, counted.name, counted.operation, counted.value FROM plugin_configs c,
      unnest(${names}::text[], ${kinds}::text[], ${values}::float8[])
        AS counted (name, operation, value)
    WHERE c.id = ${config_id}
    ON CONFLICT (plugin_config_id, name) DO UPDATE SET updated_at = now(), value = CASE m.operation
      WHEN 'sum' THEN m.value + excluded.value WHEN 'max' THEN greatest(m.value, excluded.value)
        ELSE least(m.value, excluded.value) END`);
}
