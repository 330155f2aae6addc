import { createRoute, redirect } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { root_route } from '../shell/root_route.ts';
import { requireSession } from '../shell/signed_in_route.ts';
import { account } from '../signed_in/account.ts';
import { localPath } from './local_path.ts';

function nextOf({ next }: { next?: string }): { next?: string } {
  return next === undefined ? {} : { next: localPath(next) };
}

/** Route `/login`, which leads a signed-in person on. */
export const login_route = createRoute({
  getParentRoute: () => root_route,
  path: 'login',
  // `ended`: the session ended while the console was open.
  validateSearch: (search: {
    next?: string;
    ended?: string | 1;
  }): { next?: string; ended?: 1 } => ({
    ...nextOf(search),
    ...(search.ended === undefined ? {} : { ended: 1 }),
  }),
  beforeLoad: async ({ context, search }) => {
    const known = await context.queries
      .fetchQuery({ ...account, staleTime: 0 })
      .catch(() => undefined);
    if (known !== undefined) redirect({ href: localPath(search.next), replace: true, throw: true });
  },
  component: loadedPage(() => import('./login_page.tsx'), 'LoginPage'),
});

/** Route `/confirm`, shown first in a session whose provider is new to the account. */
export const confirm_route = createRoute({
  getParentRoute: () => root_route,
  path: 'confirm',
  validateSearch: nextOf,
  beforeLoad: async (entering) => {
    const { awaits_factor } = await requireSession(entering);
    const href = localPath(entering.search.next);
    if (!awaits_factor) redirect({ href, replace: true, throw: true });
  },
  component: loadedPage(() => import('./confirm_page.tsx'), 'ConfirmPage'),
});

/**
 * Route `/login/link?token=`: the link from the terminal; it removes the token from the address.
 */
export const login_link_route = createRoute({
  getParentRoute: () => root_route,
  path: 'login/link',
  validateSearch: ({ token }: { token?: string }): { token?: string } =>
    token === undefined ? {} : { token },
  component: loadedPage(() => import('./link_page.tsx'), 'LinkPage'),
});
