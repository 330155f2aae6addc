import type { ConfigViolation, DestinationDefinition } from '../../destination.ts';
import { checkPostgres } from './check.ts';
import { postgres_config } from './config.ts';
import type { PostgresConfig } from './config.ts';
import { openPostgresSink } from './sink.ts';
import { verifyPostgres } from './verify.ts';

/** A table in the user's PostgreSQL; rows and receipt in one transaction. */
export const postgres: DestinationDefinition<typeof postgres_config> = {
  type: 'Postgres',
  label: 'PostgreSQL',
  config: postgres_config,
  secrets: ['password'],
  column_set: 'tables',
  validate: violations,
  encoding: () => ({ format: 'TabSeparated', compression: null }),
  sliceBytes: () => undefined,
  open: (config, delivery, deps) => openPostgresSink(config, delivery, deps),
  check: checkPostgres,
  verify: (config, delivered, source, deps) => verifyPostgres(config, delivered, source, deps),
};

function violations(config: PostgresConfig): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  if (!/^[0-9A-Za-z._:-]+$/.test(config.host))
    found.push({ attr: 'host', code: 'invalid_input', detail: 'The host must be a host name or an address, without a protocol or a path.' });
  if (config.table_name === 'sluice_receipts')
    found.push({ attr: 'table_name', code: 'invalid_input', detail: 'The table sluice_receipts is used for receipts; choose another name.' });
  for (const attr of ['user', 'password', 'database', 'schema', 'table_name'] as const) {
    if (config[attr]?.includes('\0') === true) found.push({ attr, code: 'invalid_input', detail: 'It must not hold NUL.' });
    if (attr !== 'user' && attr !== 'password' && Buffer.byteLength(config[attr] ?? '') > 63)
      found.push({ attr, code: 'invalid_input', detail: 'PostgreSQL takes names of at most 63 bytes.' });
  }
  return found;
}
