import { batch_export } from './batch_export.ts';
import { connection } from './connection.ts';
import { domain } from './domain.ts';
import { ingestion_rule } from './ingestion_rule.ts';
import { invite } from './invite.ts';
import type { Kind } from './kind.ts';
import { member } from './member.ts';
import { notice_target } from './notice_target.ts';
import { organization } from './organization.ts';
import { planned_event } from './planned_event.ts';
import { plugin } from './plugin.ts';
import { plugin_config } from './plugin_config.ts';
import { project } from './project.ts';
import { schema_column } from './schema_column.ts';
import { write_key } from './write_key.ts';

/**
 * The kinds of objects in a configuration, in the order of their creation: a kind comes after the
 * kinds that contain it or that it refers to.
 */
export const kinds: readonly Kind[] = [
  organization,
  project,
  write_key,
  schema_column,
  ingestion_rule,
  planned_event,
  connection,
  batch_export,
  notice_target,
  plugin,
  plugin_config,
  domain,
  member,
  invite,
];
