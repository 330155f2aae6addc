import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The models whose joins the page about persons documents. */
export const warehouse_models = ['events', 'persons', 'person_distinct_ids'] as const;

/** A row of a model as an export delivers it, as JSON. */
export type DeliveredRow = Record<string, unknown>;

/** An event with its current person, by the joins of docs/persons.md. */
export type JoinedEvent = { uuid: string; person_id: string; properties: string | null };

/**
 * A warehouse in SQLite that keeps the newest version of each row, and the statements of
 * docs/persons.md, run unchanged.
 */
export class Warehouse {
  readonly #database = new DatabaseSync(':memory:');
  readonly #joins: string[];

  constructor() {
    const page = readFileSync(join(import.meta.dirname, '../../docs/persons.md'), 'utf8');
    this.#joins = Array.from(page.matchAll(/```sql\n(.*?)```/gs), ([, sql]) => sql!);
    this.#database.exec(`
      CREATE TABLE events (uuid TEXT PRIMARY KEY, event TEXT, distinct_id TEXT, person_id TEXT);
      CREATE TABLE persons (distinct_id TEXT PRIMARY KEY, person_id TEXT, properties TEXT,
        is_deleted INTEGER, version INTEGER);
      CREATE TABLE person_distinct_ids (distinct_id TEXT PRIMARY KEY, person_id TEXT,
        is_deleted INTEGER, version INTEGER);
      CREATE INDEX persons_by_id ON persons (person_id);`);
  }

  /** Adds a delivery of a model; a newer version of a row replaces the older one. */
  load(model: (typeof warehouse_models)[number], rows: DeliveredRow[]): void {
    const columns =
      model === 'events'
        ? ['uuid', 'event', 'distinct_id', 'person_id']
        : ['distinct_id', 'person_id', 'is_deleted', 'version'].concat(
            model === 'persons' ? ['properties'] : [],
          );
    const newer = columns.map((name) => `${name} = excluded.${name}`).join(', ');
    const insert = this.#database.prepare(
      `INSERT INTO ${model} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})` +
        (model === 'events'
          ? ''
          : ` ON CONFLICT (distinct_id) DO UPDATE SET ${newer} WHERE excluded.version > version`),
    );
    this.#database.exec('BEGIN');
    for (const row of rows) {
      const named = { version: row['person_version'], ...row } as DeliveredRow;
      insert.run(...columns.map((name) => plain(named[name])));
    }
    this.#database.exec('COMMIT');
  }

  /** Returns the result of each documented join for the events, by uuid. */
  joined(): Map<string, JoinedEvent>[] {
    return this.#joins.map((sql) => {
      const rows = this.#database.prepare(sql).all() as JoinedEvent[];
      const byUuid = new Map(rows.map((row) => [row.uuid, row]));
      if (byUuid.size !== rows.length) throw new Error('A join gives an event twice.');
      return byUuid;
    });
  }

  /** Returns the rows of a table. */
  rows(table: string): DeliveredRow[] {
    return this.#database.prepare(`SELECT * FROM ${table}`).all();
  }

  close(): void {
    this.#database.close();
  }
}

function plain(value: unknown): string | number {
  if (typeof value === 'boolean' || typeof value === 'bigint') return Number(value);
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value);
}
