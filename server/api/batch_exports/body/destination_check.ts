import type {
  DestinationDefinition,
  OperatorRules,
} from '../../../engine/model/destination/destination.ts';
import { withDefaults } from '../../../engine/model/destination/config_defaults.ts';
import {
  exportPart,
  isOfConnection,
  joinedConfig,
} from '../../../engine/model/destination/connection.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { RejectedRowsPolicy } from '../../../engine/model/destination/rejected_rows.ts';
import type { Rhythm } from '../../../engine/exports/planning/interval.ts';
import { isFields } from '../../../platform/fields.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { movedSecrets } from '../../../platform/http/bodies/moved_secrets.ts';
import type { Collected } from './collect.ts';
import { changedDestination, completedConfig, typeViolation } from './destination_body.ts';
import type { Destination, DestinationSent, FullConfig } from './destination_body.ts';
import type { TypedFields } from '../typed_columns.ts';
import type { ConnectionCheck, UsedConnection } from './used_connection.ts';

/** The current export, which the rules compare with; undefined for a new one. */
export type Current = Rhythm &
  TypedFields & {
    destination: Destination;
    start_at: string | null;
    end_at: string | null;
    freshness_seconds: number | null;
    rejected_rows: RejectedRowsPolicy['rejected_rows'];
    connection_id: string | null;
    write_rule: WriteRule | null;
  };

/** A valid destination, with its definition. */
export type Sink = { definition: DestinationDefinition; destination: Destination };

/** The way to check a destination; `how` is the treatment of absent config keys. */
type HowToCheck = {
  how: 'merge' | 'replace';
  rules: OperatorRules;
  connection: ConnectionCheck;
};

/**
 * Checks the destination of a body, joined with the keys of its connection; undefined if the body
 * has none, or too little. A stored secret is never used at another address than its own.
 */
export function checkDestination(
  collected: Collected,
  destination: unknown,
  current: Current | undefined,
  { how, rules, connection: { used, is_changed } }: HowToCheck,
): Sink | undefined {
  const sent = destination === undefined && is_changed ? {} : destination;
  if (!isDestinationSent(sent)) return undefined;
  const type = sent.type ?? current?.destination.type;
  if (type === undefined) return undefined;
  const definition = findDestination(type);
  if (definition === undefined) {
    collected.add([typeViolation(type)].filter((one) => one !== undefined));
    return undefined;
  }
  collected.add(connectionViolations(definition, sent, used));
  // The body's schema has already reported the missing config, so its keys are not reported too.
  if (sent.config === undefined && (current === undefined || how === 'replace')) return undefined;
  if (used !== undefined && used.type !== type) return undefined;
  const before = ownDestination(definition, current, used) ?? { type, config: {} };
  const { config: own } = changedDestination(before, sent, how);
  const given = used === undefined ? own : joinedConfig(definition, used.config, own);
  const { config, violations } = completedConfig(definition, given, rules);
  collected.add(violations);
  // The secrets of a connection are never used at another address.
  if (before.type === type && used === undefined)
    collected.add(movedSecretsOf(definition, before.config, config, sent.config ?? {}));
  return { definition, destination: { type, config } };
}

/**
 * Returns the export's own keys of the stored destination, if a connection has or had the others.
 */
function ownDestination(
  definition: DestinationDefinition,
  current: Current | undefined,
  used: UsedConnection | undefined,
): Destination | undefined {
  if (current === undefined || (used === undefined && current.connection_id === null))
    return current?.destination;
  const { type, config } = current.destination;
  return { type, config: exportPart(definition, config) };
}

function connectionViolations(
  definition: DestinationDefinition,
  { config }: DestinationSent,
  used: UsedConnection | undefined,
): Violation[] {
  if (used === undefined) return [];
  if (used.type !== definition.type)
    return [
      {
        attr: 'connection_id',
        code: 'invalid_input',
        detail:
          `${JSON.stringify(used.name)} is a connection of the type ${used.type}: choose a ` +
          `connection of the type ${definition.type}, or send null.`,
      },
    ];
  return Object.keys(config ?? {})
    .filter((key) => isOfConnection(definition, key))
    .map((key) => ({
      attr: `destination__config__${key}`,
      code: 'invalid_input',
      detail:
        `The connection ${JSON.stringify(used.name)} has this key: leave it out here. To give ` +
        'the export its own credentials, send connection_id null and all keys.',
    }));
}

/**
 * A key that a later version added gets its default in the changed config, which is not a change.
 */
function movedSecretsOf(
  definition: DestinationDefinition,
  stored: FullConfig,
  config: FullConfig,
  sent: FullConfig,
): Violation[] {
  return movedSecrets(definition, withDefaults(definition, stored), config, {
    sent: new Set(Object.keys(sent)),
    prefix: 'destination__config__',
  });
}

function isDestinationSent(sent: unknown): sent is DestinationSent {
  if (!isFields(sent)) return false;
  const { type, config } = sent;
  return (
    (type === undefined || typeof type === 'string') &&
    (config === undefined || config === null || isFields(config))
  );
}
