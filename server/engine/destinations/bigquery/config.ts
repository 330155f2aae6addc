import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { isPlainBase } from '../../../platform/outbound/plain_address.ts';
import { isRsaKey } from '../object_store/google_key.ts';
import { defaultFlag, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import { tableKey } from '../sql_tables/config_rules.ts';
import { receipts_table } from '../sql_tables/receipts.ts';
import type { Target } from '../sql_tables/target.ts';

/** The keys of a BigQuery destination. */
export const bigquery_config = Type.Object(
  {
    project_id: requiredText(200, 'The project that holds the dataset and pays for the jobs.'),
    dataset_id: requiredText(1024, 'It must exist.'),
    table_id: tableKey(1024),
    client_email: requiredText(500, 'Copy `client_email` from the key file.'),
    private_key: requiredText(
      20_000,
      'Copy `private_key` from the key file. It may have real line breaks or `\\n`.',
    ),
    private_key_id: requiredText(200, 'Copy `private_key_id` from the key file.'),
    token_uri: requiredText(
      2048,
      'Copy `token_uri` from the key file. It is usually https://oauth2.googleapis.com/token.',
    ),
    use_json_type: defaultFlag(
      false,
      'Applies when Sluice creates the table. If off, JSON columns have the type STRING, which ' +
        'keeps every byte.',
    ),
  },
  { additionalProperties: false },
);

/** The values of the keys that a user has set. */
export type BigQueryConfig = Static<typeof bigquery_config>;

/** Keys that are encrypted and never shown, not even in an answer of Google that repeats one. */
export const secret_keys = [
  'private_key',
  'private_key_id',
  'token_uri',
  'client_email',
] as const satisfies (keyof BigQueryConfig)[];

/** Origin of every request except the one for a token. */
export const api_origin = 'https://bigquery.googleapis.com';

/** Prefix of all temporary tables of deliveries. */
export const stage_prefix = 'sluice_stage_';

/** Returns the target's quoted name, that of the receipts, and the name for users. */
export function targetOf(config: BigQueryConfig): Target {
  const table = config.table_id ?? 'events';
  return {
    table,
    quoted: inDataset(config, table),
    receipts: inDataset(config, receipts_table),
    name: `${config.dataset_id}.${table}`,
  };
}

/** Returns a table's quoted name, with project and dataset of the config. */
export function inDataset(config: BigQueryConfig, table: string): string {
  return [config.project_id, config.dataset_id, table].map(quoted).join('.');
}

/** Returns a name as a quoted identifier of GoogleSQL, with the escapes of its strings. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;
}

/** Returns the private key in PEM, with real line breaks. */
export function privateKeyOf(config: BigQueryConfig): string {
  return config.private_key.replaceAll('\\n', '\n');
}

/** Checks rules that the schema cannot express. */
export function bigQueryViolations(config: BigQueryConfig): ConfigViolation[] {
  const found: ConfigViolation[] = [];
  const refuse = (attr: string, detail: string) => found.push(violation(attr, detail));
  if (!/^(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$/.test(config.project_id))
    refuse(
      'project_id',
      'A project id has 6 to 30 lower-case letters, digits and hyphens, and begins with a ' +
        'letter. It is not the name or the number.',
    );
  if (!/^\w+$/.test(config.dataset_id))
    refuse(
      'dataset_id',
      'The id of a dataset is letters, digits and underscores, without the project.',
    );
  const { table } = targetOf(config);
  if (!/^[\p{L}\p{M}\p{N}\p{Pc}\p{Pd}\p{Zs}]+$/u.test(table) || Buffer.byteLength(table) > 1024)
    refuse(
      'table_id',
      'The id of a table is at most 1,024 bytes of letters, digits, connectors, dashes and ' +
        'spaces, without the dataset.',
    );
  if (table.toLowerCase() === receipts_table || table.toLowerCase().startsWith(stage_prefix))
    refuse(
      'table_id',
      `The names ${receipts_table} and ${stage_prefix}... are used by deliveries themselves; ` +
        'choose another name.',
    );
  if (!isRsaKey(privateKeyOf(config)))
    refuse('private_key', 'It is not a complete RSA key in PEM.');
  if (!isPlainBase(config.token_uri) || !config.token_uri.startsWith('https://'))
    refuse(
      'token_uri',
      'The address of the token service must be an https address without user, query or fragment.',
    );
  if (!/^[^\s@]+@[^\s@]+$/.test(config.client_email))
    refuse(
      'client_email',
      'It must be the address of a service account, such as name@project.iam.gserviceaccount.com.',
    );
  return found;
}
