import type { FastifyRequest } from 'fastify';
import type { DestinationDefinition } from '../../engine/destination.ts';
import { loadConfig } from '../../engine/destination_config.ts';
import { findDestination } from '../../engine/destinations/index.ts';
import type { Engine } from '../../engine/engine.ts';
import { jsonBody } from '../../platform/http/body.ts';
import { conflict } from '../../platform/http/errors.ts';
import type { FullConfig } from './destination_body.ts';
import { noProject } from './create.ts';
import { getLockedExport } from './found.ts';
import { checkedInput } from './input.ts';
import { BatchExportPatch, NewBatchExport } from './schema.ts';
import { findTargetProject } from './store.ts';

/** An export as it would be, secrets included: to be tried, never to be answered or stored. */
export type Draft = { definition: DestinationDefinition; config: FullConfig; model: 'events' | 'persons'; team_id: number };

/** The export that a body of POST describes; throws 400 as POST does. */
export async function newDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const { fields, sink } = checkedInput(NewBatchExport, jsonBody(request), undefined, 'replace');
  const project = await engine.db.transaction((tx) => findTargetProject(tx, request.access, fields.team_id));
  if (project === undefined) throw noProject(request.access, fields.team_id);
  const { definition, destination } = sink!;
  return { definition, config: destination.config, model: fields.model ?? 'events', team_id: project.id };
}

/** The export that the path names, with the changes that a body of PATCH describes; stored secrets need not be sent. Throws 404 and 400 as PATCH does. */
export async function changedDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const row = await engine.db.transaction((tx) => getLockedExport(request, tx));
  const before = { type: row.destination_type, config: loadConfig(engine.secrets, row.id, row) };
  const { fields, sink } = checkedInput(BatchExportPatch, jsonBody(request), { destination: before, start_at: row.start_at, end_at: row.end_at }, 'merge');
  const definition = sink?.definition ?? findDestination(before.type);
  if (definition === undefined) throw conflict(`This server has no destination of type ${before.type}.`);
  return { definition, config: sink?.destination.config ?? before.config, model: fields.model ?? row.model, team_id: row.team_id };
}
