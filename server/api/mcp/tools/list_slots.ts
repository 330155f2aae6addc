import { Type } from 'typebox';
import { flag } from '../../../platform/http/schemas.ts';
import type { ApiRecord } from '../api_call.ts';
import { entriesOf, pick, read } from '../api_call.ts';
import { batch_export, defineTool, exportPath, instant, project } from '../tool.ts';

/** Fields of adjacent equal slots. */
const range_fields = [
  'start_at',
  'end_at',
  'slots',
  'state',
  'reason',
  'detail',
  'first_run',
  'last_run',
  'records_completed',
] as const;
/** States of slots without missing rows. */
const fine_states = new Set(['delivered', 'waiting', 'outside']);

/** Returns true for slots that should have been delivered but were not. */
export function isGap({ state }: ApiRecord): boolean {
  return !fine_states.has(String(state));
}

/** Returns a range of slots for the answer. */
export function shownRange(range: ApiRecord): ApiRecord {
  return pick(range, range_fields);
}

/** Lists the state of each interval of an export, as ranges; or the gaps alone. */
export const list_slots = defineTool({
  name: 'list_slots',
  title: 'List slots and gaps',
  description:
    "State of an export's intervals, as ranges with state and reason: delivered, under_way, " +
    'in_doubt, failed, missing, waiting, outside.',
  input: Type.Object({
    project,
    export: batch_export,
    after: instant('Default: 30 days before `before`.'),
    before: instant('Default: now.'),
    only_gaps: Type.Optional(flag('Only intervals that should have been delivered but were not.')),
  }),
  scopes: ['batch_export:read'],
  run: async (args, { api }) => {
    const answer = await read(api, `${exportPath(args.project, args.export)}slots/`, {
      after: args.after,
      before: args.before,
    });
    const ranges = entriesOf(answer, 'ranges');
    const wanted = args.only_gaps === true ? ranges.filter(isGap) : ranges;
    return {
      ...pick(answer, ['after', 'before', 'interval', 'timezone', 'offset_minutes', 'slots']),
      ranges: wanted.map(shownRange),
      has_more: answer['next'] !== null,
    };
  },
});
