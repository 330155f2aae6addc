import pg from 'pg';

/**
 * Converts PostgreSQL's `2024-01-02 03:04:05.678+00` to the wire's `2024-01-02T03:04:05.678000Z`,
 * always six digits; the session's time zone is UTC.
 */
function wireInstant(text: string): string {
  if (!text.endsWith('+00')) return text;
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(6, '0')}Z`;
}

/** Conversions of PostgreSQL's values: instants in the wire format, counts as numbers. */
export const wireTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format: 'text' | 'binary') => {
    if (oid === pg.types.builtins.TIMESTAMPTZ) return wireInstant;
    if (oid === pg.types.builtins.INT8) return Number;
    return format === 'binary'
      ? pg.types.getTypeParser(oid, 'binary')
      : pg.types.getTypeParser(oid, 'text');
  }) as pg.CustomTypesConfig['getTypeParser'],
};
