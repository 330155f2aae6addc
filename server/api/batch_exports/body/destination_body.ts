import type {
  DestinationDefinition,
  OperatorRules,
} from '../../../engine/model/destination/destination.ts';
import { withDefaults } from '../../../engine/model/destination/config_defaults.ts';
import { destinations, findDestination } from '../../../engine/destinations/index.ts';
import { configSchemaOf } from '../../../engine/model/models/event_filter.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { checked } from '../../../platform/http/bodies/validator.ts';
import { collectViolations } from './collect.ts';

/** A destination's full config with its secrets, in memory only. */
export type FullConfig = Record<string, unknown>;

export type Destination = { type: string; config: FullConfig };

/** The destination in a body; a null config is an empty config. */
export type DestinationSent = { type?: string; config?: FullConfig | null };

/** Returns the violation of an unknown type, or undefined. */
export function typeViolation(type: string): Violation | undefined {
  if (findDestination(type) !== undefined) return undefined;
  return {
    attr: 'destination__type',
    code: 'invalid_choice',
    detail: `Must be one of ${destinations.map((one) => JSON.stringify(one.type)).join(', ')}.`,
  };
}

/**
 * Returns the destination after a change. PATCH (`merge`) puts the sent keys over the stored ones.
 * PUT (`replace`) keeps only the secrets of the stored keys, because clients cannot read and send
 * them back. A null config or a change of type starts from an empty config. A secret that is sent
 * as null is removed.
 */
export function changedDestination(
  current: Destination,
  sent: DestinationSent,
  how: 'merge' | 'replace',
): Destination {
  const type = sent.type ?? current.type;
  const secrets = findDestination(type)?.secrets ?? [];
  const isFresh = type !== current.type || sent.config === null;
  const kept = isFresh
    ? []
    : Object.entries(current.config).filter(([key]) => how === 'merge' || secrets.includes(key));
  const merged = [
    ...kept.filter(([key]) => !Object.hasOwn(sent.config ?? {}, key)),
    ...Object.entries(sent.config ?? {}),
  ];
  // `fromEntries` keeps a key named __proto__ as a key, so it is refused as unknown.
  return {
    type,
    config: Object.fromEntries(
      merged.filter(([key, value]) => value !== null || !secrets.includes(key)),
    ),
  };
}

/**
 * Returns the config with defaults for absent keys, and every violation of the destination's schema
 * and rules, named `destination__config__<key>`.
 */
export function completedConfig(
  definition: DestinationDefinition,
  given: FullConfig,
  rules: OperatorRules,
): { config: FullConfig; violations: Violation[] } {
  const config = withDefaults(definition, given);
  const collected = collectViolations();
  collected.from(() => checked(configSchemaOf(definition), config, '/destination/config'));
  const faulty = faultyKeys(collected.violations(), Object.keys(definition.config.properties));
  const byRules = ruleViolations(
    { validate: (whole) => definition.validate(whole, rules), config: definition.config },
    config,
    faulty,
  );
  collected.add(byRules.filter((one) => one.attr === null || !faulty.has(one.attr)));
  // The rules report the keys that a choice allows; the schema would report the keys of all
  // formats.
  const violations = collected
    .violations()
    .map((one) => byRules.find(({ attr, code }) => attr === one.attr && code === one.code) ?? one);
  return { config, violations };
}

/** Returns the faulty keys of the config, each by its own name: `headers` for a header. */
function faultyKeys(violations: Violation[], keys: string[]): Set<string> {
  const named = keys.map(attrOf);
  const isIn = (attr: string | null, key: string) => attr === key || attr?.startsWith(`${key}__`);
  return new Set(named.filter((key) => violations.some(({ attr }) => isIn(attr, key))));
}

function attrOf(key: string): string {
  return `destination__config__${key}`;
}

type KeySchema = { default?: unknown; type?: string | string[]; enum?: unknown };

/**
 * Returns the violations of the destination's own rules, with the schema's names. The rules are
 * written for a config that the schema accepts, so faulty keys get an acceptable value, and
 * their violations are ignored. A faulty choice (such as a format) decides the valid values of
 * other keys, so the rules are skipped. A choice that may be null does not affect other keys, and
 * is passed as sent: the rules know its options.
 */
function ruleViolations(
  definition: Pick<DestinationDefinition, 'config' | 'validate'>,
  config: FullConfig,
  faulty: ReadonlySet<string>,
): Violation[] {
  const schemas = definition.config.properties as Record<string, KeySchema>;
  const whole: FullConfig = {};
  for (const [key, schema] of Object.entries(schemas)) {
    const isOpenChoice =
      schema.default === null && schema.enum !== undefined && typeof config[key] === 'string';
    if (!faulty.has(attrOf(key)) || isOpenChoice) whole[key] = config[key];
    else if (schema.default === null || (schema.default !== undefined && schema.enum === undefined))
      whole[key] = schema.default;
    else if (schema.type === 'string' && schema.enum === undefined) whole[key] = 'x';
    else return [];
  }
  return definition.validate(whole).map((one) => ({ ...one, attr: attrOf(one.attr) }));
}
