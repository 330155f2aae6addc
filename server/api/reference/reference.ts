import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiReference, Example } from '../../platform/http/openapi/reference.ts';
import { introduction, introduction_apart } from './introduction.ts';
import { groups } from './tags.ts';

/** Folder of the examples: a file for each tag, written by `npm run docs:examples`. */
export const examples_folder = join(import.meta.dirname, 'examples');

/** The stored examples of all operations, by operation. */
export async function readExamples(): Promise<Record<string, Example>> {
  const names = (await readdir(examples_folder)).filter((name) => name.endsWith('.json'));
  const files = await Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(examples_folder, name), 'utf8'))),
  );
  return Object.assign({}, ...(files as Record<string, Example>[]));
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
