import { createRoute } from '@tanstack/react-router';
import { giveKnownLanguage } from '../batch_exports/metrics/known_language.ts';
import { textsOf } from '../batch_exports/search.ts';
import { loadedPage } from '../page/load_page.tsx';
import { project_route } from '../projects/routes.ts';

/** Route `/projects/<id>/events`: how to send events to a project, and the newest ones. */
export const events_route = createRoute({
  getParentRoute: () => project_route,
  path: 'events',
  validateSearch: textsOf(['range', 'event', 'distinct_id', 'property', 'value']),
  component: loadedPage(() => {
    giveKnownLanguage();
    return import('./events_page.tsx');
  }, 'EventsPage'),
});
