import type { Client } from 'pg';

/** An error as Snowflake reports it. */
export class SnowflakeRefusal extends Error {
  readonly code: string;
  readonly sql_state: string;
  constructor(code: string, sql_state: string, message: string) {
    super(message);
    this.code = code;
    this.sql_state = sql_state;
  }
}

/**
 * The parts of the dialect that PostgreSQL lacks, in their own schemas. VARIANT is jsonb here and
 * so does not round. ARRAY and OBJECT refuse values here that Snowflake would convert. Their
 * functions follow, and an information schema that names types like Snowflake.
 */
const parts = `
  CREATE SCHEMA snowflake_parts;
  CREATE DOMAIN snowflake_parts.variant AS jsonb;
  CREATE DOMAIN snowflake_parts.array AS jsonb CHECK (jsonb_typeof(value) = 'array');
  CREATE DOMAIN snowflake_parts.object AS jsonb CHECK (jsonb_typeof(value) = 'object');
  CREATE FUNCTION snowflake_parts.try_parse_json(value text,
    parameter text) RETURNS snowflake_parts.variant LANGUAGE plpgsql IMMUTABLE AS $$
    BEGIN RETURN CASE WHEN btrim(value) = '' THEN NULL ELSE value::jsonb END; EXCEPTION
      WHEN data_exception THEN RETURN NULL; END $$;
  CREATE FUNCTION snowflake_parts.to_variant(value text) RETURNS snowflake_parts.variant LANGUAGE
    sql IMMUTABLE AS $$ SELECT to_jsonb(value) $$;
  CREATE FUNCTION snowflake_parts.to_varchar(value timestamp,
    format text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT to_char(value, replace(format, 'FF6', 'US')) $$;
  -- No hash, but it tells values of any types apart as HASH does.
  CREATE FUNCTION snowflake_parts.hash(VARIADIC "any") RETURNS json LANGUAGE internal STABLE
    AS 'json_build_array';
  CREATE FUNCTION snowflake_parts.add_hash(total numeric, hash json) RETURNS numeric LANGUAGE sql
    IMMUTABLE AS $$ SELECT total + hashtextextended(hash::text, 0) $$;
  CREATE AGGREGATE snowflake_parts.sum(json)
    (sfunc = snowflake_parts.add_hash, stype = numeric, initcond = '0');
  CREATE SCHEMA snowflake_information;
  CREATE VIEW snowflake_information.tables AS SELECT table_schema, table_name, table_type
    FROM information_schema.tables WHERE table_type IN ('BASE TABLE', 'VIEW');
  CREATE VIEW snowflake_information.columns AS SELECT table_schema, table_name, column_name, CASE
      WHEN domain_schema = 'snowflake_parts' THEN upper(domain_name)
        WHEN data_type IN ('text', 'character varying') THEN 'TEXT'
        WHEN data_type = 'numeric' THEN 'NUMBER'
      WHEN data_type = 'double precision' THEN 'FLOAT'
        WHEN data_type = 'timestamp without time zone' THEN 'TIMESTAMP_NTZ'
      WHEN data_type = 'timestamp with time zone' THEN 'TIMESTAMP_TZ'
        ELSE upper(data_type) END AS data_type, is_nullable
    FROM information_schema.columns;`;

/** Prepares a database of PostgreSQL for the translated statements. */
export async function installDialect(client: Client): Promise<void> {
  await client.query(parts);
}

const name = '"(?:[^"]|"")+"';

/**
 * The statements that the stand-in knows, and their translation; every other one is a syntax error.
 */
const forms: [RegExp, (statement: string, ...groups: string[]) => string][] = [
  [
    /^(SELECT|DELETE FROM|UPDATE|MERGE INTO|INSERT INTO|CREATE TABLE IF NOT EXISTS|DROP TABLE) /,
    (statement) => statement,
  ],
  [/^(BEGIN TRANSACTION|COMMIT|ROLLBACK)$/, (statement) => statement],
  [
    new RegExp(`^CREATE OR REPLACE TEMPORARY TABLE (${name})\\s+(?:\\(|AS SELECT )`),
    (statement, table) =>
      `DROP TABLE IF EXISTS pg_temp.${table}; ${statement.replace('OR REPLACE ', '')}`,
  ],
  [
    new RegExp(`^CREATE TEMPORARY TABLE (${name}) LIKE (${name})$`),
    (_statement, table, like) =>
      `CREATE TEMPORARY TABLE ${table} (LIKE ${like} INCLUDING DEFAULTS)`,
  ],
  [new RegExp(`^CREATE TEMPORARY TABLE ${name} AS SELECT `), (statement) => statement],
  [
    new RegExp(`^CREATE TRANSIENT TABLE (${name}) LIKE (${name})$`),
    (_statement, table, like) => `CREATE TABLE ${table} (LIKE ${like} INCLUDING DEFAULTS)`,
  ],
  [
    new RegExp(`^ALTER TABLE ${name} (RENAME TO ${name}|ADD COLUMN ${name} NUMBER\\(38, 0\\))$`),
    (statement) => statement,
  ],
  [
    new RegExp(`^ALTER TABLE (${name}) SET DATA_RETENTION_TIME_IN_DAYS = 0$`),
    (_statement, table) => `COMMENT ON TABLE ${table} IS 'kept no day'`,
  ],
];

const words: [RegExp, string][] = [
  [/\bNUMBER\(/g, 'numeric('],
  [/\bTIMESTAMP_NTZ\(/g, 'timestamp('],
  [/ AS (ARRAY|OBJECT)\)/g, ' AS snowflake_parts.$1)'],
  [/\bINFORMATION_SCHEMA\./g, 'snowflake_information.'],
];

/**
 * Returns a statement of the destination in PostgreSQL's words. Throws `SnowflakeRefusal` for an
 * unknown form.
 */
export function translate(statement: string): string {
  for (const [pattern, form] of forms) {
    const match = pattern.exec(statement);
    if (match !== null) return inWords(form(statement, ...match.slice(1)));
  }
  throw new SnowflakeRefusal(
    '001003',
    '42000',
    `SQL compilation error: syntax error in: ${statement.slice(0, 200)}`,
  );
}

/** Names and literals stay as they are. */
function inWords(statement: string): string {
  let parameters = 0;
  return statement
    .split(/("(?:[^"]|"")*"|'(?:[^']|'')*')/)
    .map((text, index) =>
      index % 2 === 1
        ? text
        : words
            .reduce((changed, [from, to]) => changed.replaceAll(from, to), text)
            .replaceAll('?', () => `$${(parameters += 1)}`),
    )
    .join('');
}

const refusals: Record<string, [code: string, sql_state: string]> = {
  '42P01': ['002003', '42S02'],
  '42703': ['000904', '42000'],
  '42601': ['001003', '42000'],
  '42804': ['002023', '22000'],
  '42501': ['003001', '42501'],
  '22P02': ['100038', '22018'],
  '22007': ['100035', '22007'],
  '22008': ['100035', '22007'],
  '22003': ['100039', '22003'],
  '22001': ['100078', '22000'],
  '23502': ['100072', '22000'],
  '55P03': ['000625', '57014'],
  '57014': ['000604', '57014'],
};

/** Returns PostgreSQL's error with Snowflake's number. */
export function refusalOf(error: unknown): SnowflakeRefusal {
  if (error instanceof SnowflakeRefusal) return error;
  const { code = '', message } = error as Error & { code?: string };
  const [number, sql_state] = refusals[code] ?? ['300002', 'XX000'];
  return new SnowflakeRefusal(number, sql_state, message);
}
