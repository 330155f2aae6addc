import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { root_route } from '../shell/root_route.ts';

/** Route `/invite/<id>?token=`, which removes the token from the address. */
export const invite_route = createRoute({
  getParentRoute: () => root_route,
  path: 'invite/$id',
  validateSearch: ({ token }: { token?: string }): { token?: string } =>
    token === undefined ? {} : { token },
  component: loadedPage(() => import('./invite_page.tsx'), 'InvitePage'),
});
