import type { TObject } from 'typebox';

type Config = Record<string, unknown>;

/** A change that makes a valid config fail although it looks right, with the code of the error. */
export type Mistake = { name: string; change: Config; code: string };

/** A change that the schema or `validate` must refuse; `attr` if another key is at fault. */
export type WrongKey = { name: string; change: Config; attr?: string };

/** Faults that every destination with this key must recognize. */
const mistakes: readonly (Mistake & { key: string })[] = [
  mistake('password', 'wrong-password', 'authentication_failed'),
  mistake('user', 'nobody', 'authentication_failed'),
  mistake('database', 'nothing', 'database_missing'),
  mistake('schema', 'nothing', 'schema_missing'),
  // `misconfigure` has created this table, without the columns of the export.
  mistake('table_name', 'other', 'columns_missing'),
  mistake('has_self_signed_cert', false, 'tls_not_verified'),
  mistake('host', 'no-such-host.invalid', 'host_not_found'),
  mistake('host', '10.0.0.1', 'outbound_refused'),
  mistake('ssh_host', 'no-such-host.invalid', 'host_not_found'),
  mistake('ssh_host', '10.0.0.1', 'outbound_refused'),
  mistake('aws_access_key_id', 'AKIAOFNOBODY', 'authentication_failed'),
  mistake('aws_secret_access_key', 'a-secret-of-nobody', 'authentication_failed'),
  mistake('bucket_name', 'no-such-bucket', 'bucket_missing'),
  mistake('endpoint_url', 'https://no-such-host.invalid', 'host_not_found'),
  mistake('endpoint_url', 'http://169.254.169.254/', 'outbound_refused'),
];

function mistake(key: string, value: unknown, code: string): Mistake & { key: string } {
  return { key, name: `${key}: ${String(value)}`, change: { [key]: value }, code };
}

/** The faults that each key of a valid config allows. */
export function sharedMistakes(config: Config): Mistake[] {
  return mistakes.filter(({ key, change }) => {
    // Behind a tunnel, another server resolves the host, and any address may be right.
    if (key === 'host' && 'ssh_host' in config) return false;
    const [own, wrong] = [config[key], change[key]];
    return typeof own === typeof wrong && own !== wrong;
  });
}

/** Returns the faults of each schema's keys: a required key is absent, null, or of another type. */
export function wrongKeys(schema_of_all: TObject): WrongKey[] {
  const { properties } = schema_of_all;
  // A schema without required keys has no list of them.
  const { required = [] } = schema_of_all as { required?: string[] };
  return Object.entries(properties).flatMap(([key, schema]) => {
    const types = [(schema as { type: string | string[] }).type].flat();
    const wrong: [string, unknown][] = [
      ['of another type', types.includes('string') ? 7 : 'text'],
      ...(types.includes('null') ? [] : ([['null', null]] as [string, unknown][])),
      ...(required.includes(key) ? ([['left out', undefined]] as [string, unknown][]) : []),
    ];
    return wrong.map(([how, value]) => ({ name: `${key} is ${how}`, change: { [key]: value } }));
  });
}
