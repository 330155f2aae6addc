/** The work of a statement on existing bytes of a table. */
export type Cost = { table: string; work: 'scan' | 'index' | 'rewrite' | 'update' };

// Bytes of a table per second: half of the measured rate on two cores and one disk
// (docs/decisions/0064_migrations_in_the_background.md).
const bytes_per_second = {
  scan: 100_000_000,
  index: 50_000_000,
  rewrite: 12_000_000,
  update: 3_000_000,
} as const;
/** Bytes on disk that ClickHouse reads and writes per second in a partition. */
const analytics_bytes_per_second = 50_000_000;

/**
 * Derives the cost of PostgreSQL's statements from their words: read a whole table, index it,
 * rewrite it, or change its rows. A statement that only changes the catalog (a column with a
 * constant default) costs nothing.
 */
export function costsOf(text: string): Cost[] {
  const plain = text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/\$\$[\s\S]*?\$\$/g, "''")
    .replaceAll(/\s+/g, ' ');
  return plain.split(';').flatMap((statement) => {
    const index = /^ *CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON (\w+)/i.exec(statement);
    if (index !== null) return [{ table: index[1]!.toLowerCase(), work: 'index' as const }];
    const changed = /^ *(?:WITH .*?)?(?:UPDATE|DELETE FROM) (\w+)/i.exec(statement);
    if (changed !== null) return [{ table: changed[1]!.toLowerCase(), work: 'update' as const }];
    const altered = /^ *ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\w+)/i.exec(statement);
    if (altered === null) return [];
    const work = workOf(statement);
    return work === undefined ? [] : [{ table: altered[1]!.toLowerCase(), work }];
  });
}

function workOf(statement: string): Cost['work'] | undefined {
  if (/\bTYPE \w|\bSTORED\b|DEFAULT (?:random|gen_random_uuid|clock_timestamp)\(/i.test(statement))
    return 'rewrite';
  if (/\b(?:PRIMARY KEY|UNIQUE)\b/i.test(statement)) return 'index';
  if (/\b(?:SET NOT NULL|CHECK|REFERENCES)\b/i.test(statement)) return 'scan';
  return undefined;
}

/** Estimates PostgreSQL's time in seconds; `bytes` has each table's size with its indexes. */
export function secondsOf(costs: Cost[], bytes: ReadonlyMap<string, number>): number {
  return costs.reduce(
    (sum, { table, work }) => sum + (bytes.get(table) ?? 0) / bytes_per_second[work],
    0,
  );
}

/**
 * Lists the tables of ClickHouse that the statements read as a whole while the operator waits.
 * Additions (columns, indexes, projections, tables) affect only later rows.
 */
export function analyticsTablesRead(text: string): string[] {
  const plain = text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ');
  const tables = plain.split(';').flatMap((statement) => {
    const altered = /^ *ALTER TABLE (\w+) /i.exec(statement)?.[1];
    if (altered !== undefined && /\b(?:MATERIALIZE|UPDATE|DELETE|REWRITE)\b/i.test(statement))
      return [altered];
    return /^ *INSERT INTO /i.test(statement)
      ? [...statement.matchAll(/\b(?:FROM|JOIN) (\w+)/gi)].map(([, table]) => table!)
      : [];
  });
  return [...new Set(tables)];
}

/** Estimates ClickHouse's time to read so many bytes, in seconds. */
export function analyticsSeconds(bytes: number): number {
  return bytes / analytics_bytes_per_second;
}

/** Formats an estimated time: `less than a second`, `about 40 s`. */
export function aboutText(seconds: number): string {
  if (seconds < 1) return 'less than a second';
  if (seconds < 90) return `about ${Math.ceil(seconds)} s`;
  if (seconds < 5_400) return `about ${Math.round(seconds / 60)} min`;
  return `about ${(seconds / 3_600).toFixed(1)} h`;
}

/** Formats bytes: `1.2 GB`. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1_000 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
