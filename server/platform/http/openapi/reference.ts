import type { Json } from './json.ts';

/** One real request and its answer. `path` has the value of each `{}` of the path. */
export type Example = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: Json;
  status: number;
  answer?: Json;
};

/** Texts and examples around the operations, which people write. */
export type ApiReference = {
  title: string;
  /** Markdown. */
  introduction: string;
  /** In the reading order; it contains every tag of an operation. */
  groups: readonly { name: string; tags: readonly TagText[] }[];
  /** By operation. */
  examples: () => Promise<Record<string, Example>>;
  /** The tags of operations with a separate document, its URL, title and introduction. */
  apart: { path: string; tags: readonly string[]; title: string; introduction: string };
};

/** A tag of operations: its name in the document, its name for people, one or two sentences. */
export type TagText = { name: string; label: string; description: string };

/** The reference of an app that only has the routes of a test. */
export const empty_reference: ApiReference = {
  title: 'Sluice',
  introduction: 'Routes of a test.',
  groups: [],
  examples: () => Promise.resolve({}),
  apart: { path: 'apart', tags: [], title: 'Sluice', introduction: 'Routes of a test.' },
};
