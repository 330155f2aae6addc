import { createRoute } from '@tanstack/react-router';
import { giveKnownLanguage } from '../batch_exports/metrics/known_language.ts';
import { pageNumber } from '../http/page_number.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';
import { collectionOf } from './plugins.ts';
import type { Collection, LogLevel } from './plugins.ts';

type Search = { collection?: Collection; page?: number; show?: 'unused' };
const levels: readonly LogLevel[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR'];

/**
 * Route `/projects/<id>/plugins?collection=&show=&page=`: the available plugins, and those that the
 * project uses.
 */
export const plugins_route = createRoute({
  getParentRoute: () => project_route,
  path: 'plugins',
  validateSearch: ({
    collection,
    page,
    show,
  }: {
    collection?: string;
    page?: string | number;
    show?: string;
  }): Search => {
    const wanted = collectionOf(collection);
    return {
      ...(wanted === 'pipeline_destinations' ? {} : { collection: wanted }),
      ...(show === 'unused' ? { show } : {}),
      ...pageNumber(page),
    };
  },
  component: loadedPage(() => import('./plugins_page.tsx'), 'PluginsPage'),
});

/**
 * Route `/projects/<id>/plugins/<collection>/<id>?level=`: one plugin, its settings and its log.
 */
export const plugin_route = createRoute({
  getParentRoute: () => project_route,
  path: 'plugins/$collection/$plugin_id',
  validateSearch: ({ level }: { level?: string }): { level?: LogLevel } => {
    const known = levels.find((one) => one === level);
    return known === undefined ? {} : { level: known };
  },
  component: loadedPage(() => {
    giveKnownLanguage();
    return import('./plugin_page.tsx');
  }, 'PluginPage'),
});

/** Route `/projects/<id>/plugins/<collection>/<id>/code`: the code of a plugin, to edit and try. */
export const plugin_code_route = createRoute({
  getParentRoute: () => project_route,
  path: 'plugins/$collection/$plugin_id/code',
  component: loadedPage(() => import('./editor/code_page.tsx'), 'CodePage'),
});
