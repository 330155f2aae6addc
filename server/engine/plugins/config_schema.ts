import { readFields } from './packages/config_fields.ts';
import { openFaults } from './packages/faults.ts';
import type { ConfigField } from './plugin.ts';

/**
 * Returns the fields of a record's `config_schema` in either layout. An invalid part (a record
 * accepts any JSON) yields no field.
 */
export function fieldsOf(config_schema: unknown): ConfigField[] {
  return readFields(config_schema, openFaults()).filter(({ key }) => key !== undefined);
}

/** Returns the keys of the fields whose values are secret. */
export function secretNames(fields: ConfigField[]): Set<string> {
  return new Set(
    fields.flatMap(({ key, secret }) => (key !== undefined && secret === true ? [key] : [])),
  );
}
