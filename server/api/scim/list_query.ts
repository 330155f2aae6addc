import { attributeOf, readFilter } from './filter.ts';
import type { Comparison } from './filter.ts';
import { invalidValue } from './refusal.ts';

/** The query of a list: a page by the position of its first item (from 1), and its attributes. */
export type ListQuery = { filter: Comparison[]; start: number; count: number };

const count_usual = 100;
/** Most items of a page of people, also stated in the provider's configuration. */
export const count_max = 1_000;

/** Reads `filter`, `startIndex` and `count`; ignores other parameters. */
export function readListQuery(query: unknown): ListQuery {
  const { filter, startIndex, count } = query as Record<string, unknown>;
  return {
    filter: filter === undefined || filter === '' ? [] : readFilter(textOf('filter', filter)),
    start: Math.min(Math.max(1, integerOf('startIndex', startIndex) ?? 1), 2_147_483_647),
    count: Math.min(Math.max(0, integerOf('count', count) ?? count_usual), count_max),
  };
}

function integerOf(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const text = textOf(name, value);
  if (!/^-?\d{1,15}$/.test(text)) throw invalidValue(`${name} must be a whole number.`);
  return Number(text);
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== 'string') throw invalidValue(`${name} may occur only once.`);
  return value;
}

/**
 * Returns the resource with the attributes in `attributes`, or without those in
 * `excludedAttributes`: whole attributes, and always `id` and `schemas`.
 */
export function shownOf<Resource extends object>(
  query: unknown,
  resource: Resource,
): Partial<Resource> {
  const { attributes, excludedAttributes } = query as Record<string, unknown>;
  const wanted = namesOf(attributes);
  const unwanted = namesOf(excludedAttributes);
  if (wanted === undefined && unwanted === undefined) return resource;
  const shown = Object.entries(resource).filter(([key]) => {
    const name = key.toLowerCase();
    if (name === 'id' || name === 'schemas') return true;
    return wanted === undefined ? !unwanted!.has(name) : wanted.has(name);
  });
  return Object.fromEntries(shown) as Partial<Resource>;
}

/** Returns true if the query excludes the attribute. It then need not be read. */
export function isLeftOut(query: unknown, attribute: string): boolean {
  return !(attribute in shownOf(query, { [attribute]: true }));
}

function namesOf(list: unknown): Set<string> | undefined {
  if (typeof list !== 'string' || list.trim() === '') return undefined;
  const names = list.split(',').map((name) => attributeOf(name.trim()).split('.')[0]!);
  return new Set(names);
}

/** A page of resources in their answered form, and the total number. */
export type Listed = { total: number; resources: object[] };

/** Returns a page of resources (RFC 7644, 3.4.2). */
export function listAnswer(total: number, start: number, resources: object[]) {
  return {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: total,
    startIndex: start,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
