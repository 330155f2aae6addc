import type { FastifyInstance } from 'fastify';
import { isDeepStrictEqual } from 'node:util';
import { readTrackingPlan } from '../../engine/ingest/rules/imported_plan.ts';
import type { ImportedEvent } from '../../engine/ingest/rules/imported_plan.ts';
import { planned_events_max } from '../../engine/ingest/rules/tracking_plan.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid } from '../../platform/http/errors.ts';
import { addWrite, changing } from '../../platform/http/records.ts';
import { parseJson } from '../../platform/json/parse_json.ts';
import { beginRuleChange } from '../ingestion_rules/store.ts';
import { ImportedPlan, PlanImport } from './schema.ts';
import type { PlannedEventRow } from './schema.ts';
import { allPlannedEvents, storePlannedEvent } from './store.ts';

const description =
  'Adds the events of the file to the plan, and changes existing ones. Events that are ' +
  'missing in the file stay. `left_out` names each rule that Sluice does not compare. With ' +
  '`validate_only` nothing is stored.';

/** Route `import/`, which reads a tracking plan of another tool. */
export function importRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: '/api/projects/:project_id/planned_events/import/',
    config: changing,
    summary: 'Import a tracking plan with a JSON Schema for each event',
    description,
    body: PlanImport,
    response: { 200: ImportedPlan },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const { plan, mode = 'warn' } = body(request, PlanImport);
      const { events, left_out } = readPlan(plan);
      await beginRuleChange(tx, team_id);
      const stored = new Map((await allPlannedEvents(tx, team_id)).map((one) => [one.event, one]));
      const created = events.filter(({ event }) => !stored.has(event));
      const changed = events.filter((one) => isOther(one, stored.get(one.event)));
      if (stored.size + created.length > planned_events_max)
        throw invalid('plan', 'max_items', `A plan has at most ${planned_events_max} events.`);
      for (const one of [...created, ...changed]) {
        const before = stored.get(one.event);
        await storePlannedEvent(tx, team_id, { mode, ...before, ...one }, before?.id);
      }
      const changes = [...changesOf('created', created), ...changesOf('changed', changed)];
      const scope = 'planned_event';
      const entry = { activity: 'imported', scope, item_id: String(team_id), item_name: null };
      record(changes.length === 0 ? 'nothing' : { ...entry, changes });
      return {
        created: created.map(({ event }) => event),
        changed: changed.map(({ event }) => event),
        unchanged: events.length - created.length - changed.length,
        left_out,
      };
    },
  });
}

/** Reads the file; throws 400 for an invalid plan. */
function readPlan(plan: unknown) {
  const read = readTrackingPlan(typeof plan === 'string' ? parseJson(plan) : plan);
  if (read === undefined)
    throw invalid(
      'plan',
      'invalid_input',
      'This is no tracking plan: send JSON with a list of events, each with a name and a ' +
        'JSON Schema.',
    );
  return read;
}

/** Returns true if the plan has the event with other rules. */
function isOther(one: ImportedEvent, before: PlannedEventRow | undefined): boolean {
  if (before === undefined) return false;
  const { description: text, properties, other_properties } = before;
  const same = { event: one.event, description: text, properties, other_properties };
  return !isDeepStrictEqual(one, same);
}

function changesOf(action: 'created' | 'changed', events: ImportedEvent[]): Change[] {
  return events.map(({ event, properties }) => ({
    field: event,
    action,
    before: null,
    after: properties.length,
  }));
}
