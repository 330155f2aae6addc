import { createRoute } from '@tanstack/react-router';
import { textsOf } from '../batch_exports/search.ts';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

const listSearch = textsOf(['search', 'ordering']);
const narrowed = (given: { search?: string; ordering?: string; page?: string | number }) => ({
  ...listSearch(given),
  ...pageNumber(given.page),
});

/** Route `/projects/<id>/event_catalogue`: the ingested events. */
export const catalogue_route = createRoute({
  getParentRoute: () => project_route,
  path: 'event_catalogue',
  validateSearch: narrowed,
  component: loadedPage(() => import('./catalogue_page.tsx'), 'CataloguePage'),
});

/** Route `/projects/<id>/event_catalogue/properties`: the properties of all events. */
export const catalogue_properties_route = createRoute({
  getParentRoute: () => project_route,
  path: 'event_catalogue/properties',
  validateSearch: narrowed,
  component: loadedPage(() => import('./properties_page.tsx'), 'PropertiesPage'),
});

const eventName = textsOf(['event']);

/** Route `/projects/<id>/event_catalogue/event?event=<name>`: one event with its properties. */
export const catalogue_event_route = createRoute({
  getParentRoute: () => project_route,
  path: 'event_catalogue/event',
  validateSearch: (given: {
    event?: string;
    search?: string;
    ordering?: string;
    page?: string | number;
  }) => ({ ...narrowed(given), ...eventName(given) }),
  component: loadedPage(() => import('./event_page.tsx'), 'EventPage'),
});

/** Route `/projects/<id>/event_catalogue/schema`: the properties that are columns of exports. */
export const catalogue_schema_route = createRoute({
  getParentRoute: () => project_route,
  path: 'event_catalogue/schema',
  validateSearch: ({ page }: { page?: string | number }) => pageNumber(page),
  component: loadedPage(() => import('./schema_page.tsx'), 'SchemaPage'),
});
