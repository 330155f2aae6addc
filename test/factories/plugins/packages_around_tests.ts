import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { betweenFiles } from '../../between_files.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';
import { openPluginForge } from '../../servers/plugin_forge.ts';
import type { PluginForge } from '../../servers/plugin_forge.ts';
import { openPluginRegistry } from '../../servers/plugin_registry.ts';
import type { PluginRegistry } from '../../servers/plugin_registry.ts';

/** Opened before the tests of the files that import it, and closed after them. */
export let harness: Harness;

/** The organization of the key that `ask` uses. */
export let home: TestOrganization;

/** The source of the harness's packages. */
export let registry: PluginRegistry;
export let forge: PluginForge;

/** The folder of its local plugins, with a catalogue of one entry. */
export let folder: string;

/** The collection that most tests use. */
export const destination = 'pipeline_destinations';

/** Sends a request with the key of `home`. */
export const ask = (
  method: string,
  path: string,
  body?: unknown,
  key = home.key,
): Promise<Answer> => harness.request(method, path, { key, body });

/** Opens the exports of this file; files that need it run one after another. */
export const openAroundTests = betweenFiles(
  async () => {
    registry = await openPluginRegistry();
    forge = await openPluginForge();
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    const plugin_catalogue = join(folder, 'catalogue.json');
    const entry = {
      name: 'Listed',
      description: 'A package of the registry.',
      url: 'listed',
      collection: destination,
      maintainer: 'official',
    };
    await writeFile(plugin_catalogue, JSON.stringify([entry]));
    harness = await openHarness({
      clickhouse: false,
      config: {
        npm_registry_url: registry.endpoint,
        ...forge.settings,
        plugin_dir: folder,
        plugin_catalogue,
      },
    });
    home = await harness.newOrganization();
  },
  async () => {
    await harness.close();
    await Promise.all([registry.close(), forge.close(), rm(folder, { recursive: true })]);
  },
);
