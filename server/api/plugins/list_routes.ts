import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import type { Deps } from '../../deps.ts';
import { installCommand, toolsFolder } from '../../engine/plugins/sandbox/tool_library.ts';
import { findVendor } from '../../engine/plugins/oauth/vendors.ts';
import { findTool } from '../../engine/plugins/tools/catalogue.ts';
import type { CatalogueEntry } from '../../engine/plugins/packages/catalogue.ts';
import {
  PageQuery,
  answerPage,
  limitOf,
  pageAnswer,
} from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { addRoute } from '../../platform/http/records.ts';
import { ActivityEntry } from '../activity/schema.ts';
import type { ActivityRow } from '../activity/schema.ts';
import { level_of_addresses } from '../activity/store.ts';
import { listPluginActivity } from './activity_store.ts';
import type { Collection } from './collections.ts';
import { placeOf } from './found.ts';
import { reading } from './record_routes.ts';
import {
  CatalogueItem,
  CatalogueQuery,
  Plugin,
  beside,
  besideRecord,
  no_record,
} from './schema.ts';
import type { PluginRow } from './schema.ts';
import {
  findPlugin,
  listRegisteredTools,
  listUnusedPlugins,
  requirePluginsLevel,
} from './store.ts';

/** The context of a list. */
type Asked = { deps: Deps; collection: Collection; catalogue: CatalogueEntry[] };
/** A list: its name in the path and in the document, its content, and the function that answers. */
type List = {
  name: string;
  title: string;
  summary(plural: string): string;
  item: TSchema;
  /** Its query parameters beyond those that every list has. */
  asks?: TSchema;
  answer(request: FastifyRequest, asked: Asked): Promise<unknown>;
};

const lists: List[] = [
  {
    name: 'repository',
    title: 'PluginCatalogue',
    summary: (plural) => `List the packages of the catalogue for ${plural}`,
    item: CatalogueItem,
    asks: CatalogueQuery,
    answer: answerCatalogue,
  },
  {
    name: 'unused',
    title: 'UnusedPlugins',
    summary: (plural) =>
      `List the organization's ${plural} that no project has enabled, newest first`,
    item: Plugin,
    answer: answerUnused,
  },
  {
    name: 'activity',
    title: 'PluginActivity',
    summary: (plural) => `List the activity of the organization's ${plural}, newest first`,
    item: ActivityEntry,
    answer: answerActivity,
  },
];

/**
 * Routes of lists about a collection as a whole. The contract answers each with one plugin: the
 * first that the list is about. The list is a field beside it.
 */
export function listRoutes(
  app: FastifyInstance,
  deps: Deps,
  collection: Collection,
  catalogue: CatalogueEntry[],
): void {
  for (const { name, title, summary, item, asks = PageQuery, answer } of lists)
    addRoute(app, {
      url: `${collection.base}${name}/`,
      config: reading,
      summary: summary(collection.plural),
      description: beside,
      querystring: asks,
      response: { 200: besideRecord(item, title) },
      handler: async (request) => {
        await requirePluginsLevel(deps.db, request.access, 3);
        return answer(request, { deps, collection, catalogue });
      },
    });
}

/**
 * The record beside the entries shows what installing the first entry would create, as far as
 * known.
 */
async function answerCatalogue(request: FastifyRequest, { deps, catalogue, collection }: Asked) {
  const { search = '', category, ...asked } = query(request, CatalogueQuery);
  const words = search.toLowerCase().split(/\s+/);
  const entries = catalogue.filter((entry) => {
    const text = `${entry.name} ${entry.description} ${entry.category ?? ''}`.toLowerCase();
    return (
      entry.collection === collection.name &&
      (category === undefined || entry.category === category) &&
      words.every((word) => text.includes(word))
    );
  });
  const registered = await listRegisteredTools(deps.db, request.access.organization_id);
  const page = { limit: limitOf(asked.limit), offset: asked.offset ?? 0 };
  const results = entries.slice(page.offset, page.offset + page.limit).map((entry) => ({
    ...entry,
    needs: needsOf(entry, deps),
    wants_application: wantsApplication(entry, registered),
  }));
  const [first] = results;
  const known =
    first === undefined
      ? {}
      : {
          plugin_type: 'repository',
          name: first.name,
          description: first.description,
          url: first.url,
        };
  return { ...no_record, ...known, ...pageAnswer(request, page, entries.length, results) };
}

/** Returns the command that installs the package of an entry; null if it is installed. */
function needsOf({ url }: CatalogueEntry, { sandbox, config }: Deps): string | null {
  const isMissing = findTool(url) !== undefined && sandbox.toolLibrary() === undefined;
  return isMissing ? installCommand(toolsFolder(config.data_dir)) : null;
}

function wantsApplication({ url }: CatalogueEntry, registered: ReadonlySet<string>): boolean {
  const tool = findTool(url)?.directory ?? '';
  return findVendor(tool)?.way === 'people' && !registered.has(tool);
}

async function answerUnused(request: FastifyRequest, { deps, collection }: Asked) {
  const place = placeOf(request, collection);
  const page = await answerPage<PluginRow>(request, deps.db, listUnusedPlugins(place));
  return { ...(page.results[0] ?? no_record), ...page };
}

async function answerActivity(request: FastifyRequest, { deps, collection }: Asked) {
  const { db } = deps;
  const { organization_id, level } = request.access;
  const reader = { caller: request.caller, sees_addresses: level >= level_of_addresses };
  const page = await answerPage<ActivityRow>(
    request,
    db,
    listPluginActivity(organization_id, collection.scope, reader),
  );
  const [newest] = page.results;
  const plugin =
    newest === undefined
      ? undefined
      : await findPlugin(db, placeOf(request, collection), Number(newest.item_id));
  return { ...(plugin ?? no_record), ...page };
}
