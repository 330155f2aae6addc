import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { health_codes } from '../../../engine/exports/health/state.ts';
import type { HealthCode } from '../../../engine/exports/health/state.ts';
import { answerPage, pageAnswer, pageAsked } from '../../../platform/http/lists/pagination.ts';
import type { Page } from '../../../platform/http/lists/pagination.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { choicesAsked } from '../body/choices.ts';
import { isInPlace } from '../place.ts';
import { countTags } from '../tags.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { addRoute } from '../../../platform/http/records.ts';
import { Overview, OverviewQuery, default_slots } from './schema.ts';
import { shownOverview } from './shown.ts';
import { countByHealth, countHealth, countOverview, listOverview, worstOf } from './store.ts';
import type { OverviewRow, OverviewWanted } from './store.ts';

// `choicesAsked` reads `health`, which may be repeated.
const { health: _health, ...single } = OverviewQuery.properties;
const SingleParameters = Type.Object(single);

/** Route `overview/`: the health of each export, in words and numbers. */
export function overviewRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  const { base, within } = mount;
  addRoute(app, {
    url: base.replace(/batch_exports\/$/, 'overview/'),
    config: { scope: 'batch_export:read', within },
    summary: 'List the health of batch exports',
    description:
      'Health as a word and a sentence, freshness, the next run, and the rows of the ' +
      'latest runs. `counts` covers all exports of the place.',
    querystring: OverviewQuery,
    response: { 200: Overview },
    handler: (request) => answerOverview(engine, request),
  });
}

async function answerOverview(engine: Engine, request: FastifyRequest) {
  const asked = query(request, SingleParameters);
  const wanted = {
    health: choicesAsked(request, 'health', health_codes),
    search: asked.search,
    model: asked.model,
    destination_type: asked.destination_type,
    tag: asked.tag,
    batch_export: asked.batch_export,
    ordering: asked.ordering ?? ('-created_at' as const),
    slots: asked.slots ?? default_slots,
  };
  const [counts, tags] = await Promise.all([
    countHealth(engine.db, engine, request.access),
    engine.db.rows<{ tag: string; count: number }>(countTags(isInPlace(request.access))),
  ]);
  const count = countByHealth(wanted, counts);
  const page =
    count === undefined
      ? await answerPage<OverviewRow>(request, engine.db, {
          rows: (one) => listOverview(engine, request.access, wanted, one),
          count: countOverview(engine, request.access, wanted),
        })
      : await answerCounted(engine, request, wanted, { counts, count });
  return { ...page, results: await shownOverview(engine, page.results), counts, tags };
}

async function answerCounted(
  engine: Engine,
  request: FastifyRequest,
  wanted: OverviewWanted,
  { counts, count }: { counts: Record<HealthCode, number>; count: number },
) {
  const page = pageAsked(request);
  const find = (of: OverviewWanted, one: Page) =>
    engine.db.rows<OverviewRow>(listOverview(engine, request.access, of, one));
  if (wanted.ordering !== 'health')
    return pageAnswer(request, page, count, await find(wanted, page));
  const worst = worstOf(wanted, counts, page);
  const rows = await find({ ...wanted, health: worst.health }, worst.page);
  // The page has fewer rows than were counted: the health of some has changed, so all must be read.
  const isShort = rows.length < Math.min(page.limit, count - page.offset);
  return pageAnswer(request, page, count, isShort ? await find(wanted, page) : rows);
}
