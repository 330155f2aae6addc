import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { plugin_collections } from '../plugin.ts';
import type { PluginCollection } from '../plugin.ts';
import { listTools, toolUrl } from '../tools/catalogue.ts';
import type { ToolEntry } from '../tools/catalogue.ts';
import { byUse, categoryOf } from '../tools/categories.ts';
import type { ToolCategory } from '../tools/categories.ts';
import { http_entry, http_url } from '../tools/http_request/definition.ts';
import { isFields } from '../../../platform/fields.ts';

/**
 * A package that the server offers by name. `url` is an address that `openOrigin` accepts;
 * `maintainer` is its owner: the platform's own makers or the community. Entries of a file have no
 * category.
 */
export type CatalogueEntry = {
  name: string;
  description: string;
  url: string;
  collection: PluginCollection;
  maintainer: 'official' | 'community';
  category: ToolCategory | null;
};

const maintainers: CatalogueEntry['maintainer'][] = ['official', 'community'];
/**
 * Returns the list for the API: the tool that needs no package, the most used tools, the packages,
 * and the other tools by name.
 */
export function withTools(entries: CatalogueEntry[]): CatalogueEntry[] {
  const names = new Set(entries.map(({ name }) => name));
  const entryOf = ({ directory, name, description }: ToolEntry): CatalogueEntry => ({
    name: names.has(name) ? `${name} (tool)` : name,
    description,
    url: toolUrl(directory),
    collection: 'pipeline_destinations',
    maintainer: 'community',
    category: categoryOf(directory),
  });
  const { first, others } = byUse(listTools());
  const { name, description } = http_entry;
  const own: CatalogueEntry = {
    name,
    description,
    url: http_url,
    collection: 'pipeline_destinations',
    maintainer: 'official',
    category: 'data',
  };
  return [own, ...first.map(entryOf), ...entries, ...others.map(entryOf)];
}

const own_catalogue = join(import.meta.dirname, 'catalogue.json');

/**
 * Reads the entries of the catalogue: a JSON file with a list of them, the server's own if no path
 * is given. Guarantee: names and addresses are unique, and an entry only has the documented keys. A
 * missing or invalid file throws an error for the operator that names the file and every fault.
 */
export function readCatalogue(path: string | undefined): CatalogueEntry[] {
  const file = path ?? own_catalogue;
  const entries = readList(file);
  const faults = entries.flatMap((entry, index) =>
    faultsOf(entry).map((fault) => `entry ${index + 1}: ${fault}`),
  );
  for (const key of ['name', 'url'] as const) {
    const values = entries.map((entry) => (isFields(entry) ? entry[key] : undefined));
    const twice = values.filter(
      (value, index) => typeof value === 'string' && values.indexOf(value) !== index,
    );
    faults.push(...twice.map((value) => `the ${key} ${String(value)} occurs twice`));
  }
  if (faults.length > 0)
    throw new Error(`The plugin catalogue ${file} is wrong: ${faults.join('; ')}.`);
  return (entries as CatalogueEntry[]).map(
    ({ name, description, url, collection, maintainer }) => ({
      name,
      description,
      url,
      collection,
      maintainer,
      category: null,
    }),
  );
}

function readList(file: string): unknown[] {
  try {
    const json: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (Array.isArray(json)) return json;
  } catch (error) {
    throw new Error(`The plugin catalogue ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new Error(`The plugin catalogue ${file} is wrong: it must be a list of entries.`);
}

function faultsOf(entry: unknown): string[] {
  if (!isFields(entry)) return ['must be an object'];
  const { name, description, url, collection, maintainer } = entry;
  const isText = (value: unknown, length_max: number) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= length_max;
  return [
    isText(name, 200) ? [] : ['name must be text of 1 to 200 characters'],
    isText(description, 1000) ? [] : ['description must be text of 1 to 1000 characters'],
    isText(url, 800) ? [] : ['url must be text of 1 to 800 characters'],
    plugin_collections.includes(collection as PluginCollection)
      ? []
      : [`collection must be one of ${plugin_collections.join(', ')}`],
    maintainers.includes(maintainer as CatalogueEntry['maintainer'])
      ? []
      : [`maintainer must be one of ${maintainers.join(', ')}`],
  ].flat();
}
