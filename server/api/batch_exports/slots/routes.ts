import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import {
  boundaryAfter,
  boundaryAtOrBefore,
  nominalLength,
} from '../../../engine/exports/planning/interval.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid, missing } from '../../../platform/http/errors.ts';
import { linkTo } from '../../../platform/http/lists/pagination.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { getPresence } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { refuseEmptyRange } from '../range.ts';
import { Slots, SlotsQuery } from './schema.ts';
import { listEventTimeRanges, listSlotRanges } from './slots.ts';
import { findSchedule, inOneLook, withDelivered } from './store.ts';
import type { Schedule } from './store.ts';

const default_days = 30;
const day_ms = 24 * 3_600_000;
/** Most slots: more than two years of five minutes, or half a year of minutes. */
const slots_max = 250_000;
/** The number of days is limited too, because they are computed one by one. */
const days_max = 3_660;
const ranges_max = 10_000;

/** Route `slots/` of an export: the state of each interval of its schedule. */
export function slotRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const schema = {
    summary: "List the states of a batch export's slots, as ranges",
    description:
      `A slot is an interval of insertion time that should have a run, in the export's current ` +
      `interval; with \`by=timestamp\` an interval of event time. Adjacent equal slots are one ` +
      `range. At most ${slots_max} slots and ${days_max} days; a longer range is 400.`,
    querystring: SlotsQuery,
    response: { 200: Slots },
  };
  app.get(
    `${base}:id/slots/`,
    { config: { scope: 'batch_export:read', within }, schema },
    async (request) => {
      const { id } = await getPresence(request, engine.db);
      return inOneLook(engine.db, async (tx) => {
        const { organization_id } = request.access;
        const schedule = (await findSchedule(tx, id)) ?? missing();
        const wanted = slotsWanted(request, schedule);
        const { by = 'inserted_at' } = query(request, SlotsQuery);
        const limited = { ...wanted, limit: ranges_max };
        const ranges =
          by === 'timestamp'
            ? await listEventTimeRanges(tx, schedule, limited)
            : await listSlotRanges(
                engine,
                tx,
                await withDelivered(tx, organization_id, schedule, wanted),
                limited,
              );
        const end = ranges.at(-1)?.end_at ?? isoInstant(wanted.before);
        return {
          after: isoInstant(wanted.after),
          before: isoInstant(wanted.before),
          interval: schedule.interval,
          timezone: schedule.timezone,
          offset_minutes: schedule.offset_minutes,
          by,
          slots: ranges.reduce((sum, range) => sum + range.slots, 0),
          ranges,
          next: Date.parse(end) < wanted.before ? linkTo(request, { after: end }) : null,
        };
      });
    },
  );
}

function slotsWanted(request: FastifyRequest, schedule: Schedule) {
  const asked = query(request, SlotsQuery);
  const before = asked.before === undefined ? schedule.now : Date.parse(asked.before);
  const after =
    asked.after === undefined ? before - default_days * day_ms : Date.parse(asked.after);
  refuseEmptyRange(after, before);
  if (
    before - after > days_max * day_ms ||
    (before - after) / nominalLength(schedule.interval) > slots_max
  )
    throw invalid(
      'after',
      'max_items',
      `This range has more than ${slots_max} slots or ${days_max} days: ask for a shorter one.`,
    );
  const first = boundaryAtOrBefore(schedule, after);
  const last = boundaryAtOrBefore(schedule, before);
  return { after: first, before: last === before ? last : boundaryAfter(schedule, last) };
}
