import type { Json } from './json.ts';

/** One real request and its answer. `path` has the value of each `{}` of the path. */
export type Example = {
  path?: Record<string, string>;
  query?: Record<string, string>;
  body?: Json;
  status: number;
  answer?: Json;
};

/** Texts and examples around the operations, which only people can write. */
export type ApiReference = {
  title: string;
  /** Markdown. */
  introduction: string;
  /** In the order in which a reader meets them; every tag of an operation is here. */
  groups: readonly { name: string; tags: readonly TagText[] }[];
  /** By operation. */
  examples: () => Promise<Record<string, Example>>;
  /** The tags of operations that have a document of their own, its address, how it begins. */
  apart: { path: string; tags: readonly string[]; title: string; introduction: string };
};

/** A tag of operations: its name in the document, its name for people, one or two sentences. */
export type TagText = { name: string; label: string; description: string };

/** The reference of an app that has only the routes of a test. */
export const empty_reference: ApiReference = {
  title: 'Sluice',
  introduction: 'Routes of a test.',
  groups: [],
  examples: () => Promise.resolve({}),
  apart: { path: 'apart', tags: [], title: 'Sluice', introduction: 'Routes of a test.' },
};
