import type { Query } from '../http/path.ts';
import { pageQuery } from '../http/page_number.ts';
import { pathTo } from '../http/path.ts';
import { reading } from '../http/reading.ts';

const events = '/api/projects/:project_id/event_catalogue/';
const properties = '/api/projects/:project_id/event_catalogue/properties/';

/** The search, the order and the page of a list, in the address. */
export type CatalogueSearch = { search?: string; ordering?: string; page?: number };

/** The orders of the list of events; the first one is the API's default. */
export const event_orders = [
  { value: '', label: 'Most in 30 days' },
  { value: '-events', label: 'Most of all time' },
  { value: 'event', label: 'Name' },
  { value: '-last_seen_at', label: 'Last seen' },
  { value: '-first_seen_at', label: 'Newest' },
];
/** The orders of a list of properties. */
export const property_orders = [
  { value: '', label: 'Most frequent' },
  { value: 'property', label: 'Name' },
  { value: '-last_seen_at', label: 'Last seen' },
  { value: '-first_seen_at', label: 'Newest' },
];

/** A page of the events of a project. */
export function catalogueEvents(project_id: string, asked: CatalogueSearch) {
  const query = queryOf<Query<typeof events>>(asked, event_orders);
  return reading(pathTo(events, { project_id }, query), { is_busy: isCounting });
}

/** One event of a project, by its name. */
export function catalogueEvent(project_id: string, event: string) {
  return reading(pathTo(events, { project_id }, { event }), { is_busy: isCounting });
}

/** A page of the properties of one event, or of all. */
export function catalogueProperties(project_id: string, asked: CatalogueSearch, event?: string) {
  const query = { ...queryOf<Query<typeof properties>>(asked, property_orders), event };
  return reading(pathTo(properties, { project_id }, query), { is_busy: isCounting });
}

/** An unknown order is left out, so that the API's default applies. */
function queryOf<Asked extends { ordering?: string }>(
  { search, ordering, page = 1 }: CatalogueSearch,
  orders: { value: string }[],
): Asked {
  const known = orders.find(({ value }) => value !== '' && value === ordering)?.value;
  return { ...pageQuery(page), search, ordering: known } as unknown as Asked;
}

function isCounting({ is_counting }: { is_counting: boolean }): boolean {
  return is_counting;
}
