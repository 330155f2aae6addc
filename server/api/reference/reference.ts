import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiReference, Example } from '../../platform/http/openapi/reference.ts';
import { introduction, introduction_apart } from './introduction.ts';
import { groups } from './tags.ts';

/** Folder of the examples: a file for each tag, written by `npm run docs:examples`. */
export const examples_folder = join(import.meta.dirname, 'examples');

/** Objects under an organization and under each of its projects. */
const at_both = 'batch_exports|bulk_actions|notice_deliveries|notice_targets|overview';

/** Returns the examples of all operations, by operation. */
export async function readExamples(): Promise<Record<string, Example>> {
  const names = (await readdir(examples_folder)).filter((name) => name.endsWith('.json'));
  const files = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(examples_folder, name), 'utf8'))),
  );
  const stored: Record<string, Example> = Object.assign({}, ...files);
  return { ...examplesOfProjects(stored), ...stored };
}

/**
 * Returns the examples of organization paths for project paths: both have the same schemas, so only
 * one example is stored.
 */
export function examplesOfProjects(examples: Record<string, Example>): Record<string, Example> {
  const ids = Object.keys(examples).filter((id) => id.match(`^organizations_(${at_both})_`));
  return Object.fromEntries(
    ids.map((id) => {
      const { path: { organization_id, ...path } = {}, ...rest } = examples[id]!;
      const text = JSON.stringify(rest).replaceAll(
        `/organizations/${organization_id}/`,
        '/projects/1/',
      );
      return [
        id.replace('organizations', 'projects'),
        { path: { project_id: '1', ...path }, ...(JSON.parse(text) as Example) },
      ];
    }),
  );
}

/** The reference of the API: its texts, its tags, its examples. */
export const api_reference: ApiReference = {
  title: 'Sluice API',
  introduction,
  groups,
  examples: readExamples,
  apart: {
    path: 'protocols',
    tags: ['capture', 'mcp'],
    title: 'Protocols of SDKs and agents',
    introduction: introduction_apart,
  },
};
