import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/ingestion_rules`: the rules that change events before they are stored. */
export const ingestion_rules_route = createRoute({
  getParentRoute: () => project_route,
  path: 'ingestion_rules',
  component: loadedPage(() => import('./rules_page.tsx'), 'RulesPage'),
});

/** Route `/projects/<id>/ingestion_rules/<id>`: one rule. */
export const ingestion_rule_route = createRoute({
  getParentRoute: () => project_route,
  path: 'ingestion_rules/$rule_id',
  component: loadedPage(() => import('./rule_page.tsx'), 'RulePage'),
});
