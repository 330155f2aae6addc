import { connectionPart, isOfConnection } from '../../../engine/model/destination/connection.ts';
import { withDefaults } from '../../../engine/model/destination/config_defaults.ts';
import type {
  DestinationDefinition,
  OperatorRules,
} from '../../../engine/model/destination/destination.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { movedSecrets } from '../../../platform/http/bodies/moved_secrets.ts';
import { changedDestination, completedConfig } from '../body/destination_body.ts';
import type { Destination, FullConfig } from '../body/destination_body.ts';

/** The prefix of config keys in violations of an export. */
const of_export = 'destination__config__';

/** Returns the definition of a type that the body's schema has accepted. */
export function definitionOf(type: string): DestinationDefinition {
  return findDestination(type)!;
}

/**
 * Returns the config of a connection with its defaults, and all its violations, named
 * `config__<key>`. Ignores the keys that belong to each export.
 */
export function checkedKeys(
  type: string,
  given: FullConfig,
  rules: OperatorRules,
): { config: FullConfig; violations: Violation[] } {
  const definition = definitionOf(type);
  const foreign = Object.keys(given)
    .filter((key) => !isOfConnection(definition, key))
    .map((key) => foreignKey(definition, key));
  const whole = completedConfig(definition, connectionPart(definition, given), rules);
  const isItsOwn = ({ attr }: Violation) =>
    isOfConnection(definition, attr?.replace(of_export, '').split('__')[0] ?? '');
  return {
    config: connectionPart(definition, whole.config),
    violations: [...foreign, ...renamed(whole.violations.filter(isItsOwn))],
  };
}

/** Renames the violations of an export's config for a connection. */
export function renamed(violations: Violation[]): Violation[] {
  return violations.map((one) => ({
    ...one,
    attr: one.attr?.startsWith(of_export) ? one.attr.replace('destination__', '') : one.attr,
  }));
}

function foreignKey(definition: DestinationDefinition, key: string): Violation {
  const isKnown = Object.hasOwn(definition.config.properties, key);
  return {
    attr: `config__${key}`,
    code: 'invalid_input',
    detail: isKnown
      ? 'This belongs to each export, not to a connection: set it there.'
      : `A connection of the type ${definition.type} has no such key: it has ` +
        `${definition.connection!.join(', ')}.`,
  };
}

/**
 * Returns the config of a connection after a change, checked as `checkedKeys` does. A stored secret
 * is only valid for its address: if a key of the address changes, the secret must be sent again.
 */
export function changedKeys(
  before: Destination,
  sent: FullConfig,
  how: 'merge' | 'replace',
  rules: OperatorRules,
): { config: FullConfig; violations: Violation[] } {
  const definition = definitionOf(before.type);
  const { config: given } = changedDestination(before, { config: sent }, how);
  const { config, violations } = checkedKeys(before.type, given, rules);
  const { secrets, where, less_safe } = definition;
  const places = {
    secrets,
    less_safe,
    where: where.filter((key) => isOfConnection(definition, key)),
  };
  const stored = withDefaults(definition, before.config);
  const moved = movedSecrets(places, stored, config, {
    sent: new Set(Object.keys(sent)),
    prefix: 'config__',
  });
  return { config, violations: [...violations, ...moved] };
}
