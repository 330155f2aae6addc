import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { root_route } from '../shell/root_route.ts';
import { account } from '../users/account.ts';
import { localPath } from './local_path.ts';

/** `/login`, from which whoever is signed in is led on. */
export const login_route = createRoute({
  getParentRoute: () => root_route,
  path: 'login',
  validateSearch: ({ next }: { next?: string }): { next?: string } =>
    next === undefined ? {} : { next: localPath(next) },
  beforeLoad: async ({ context, search }) => {
    const known = await context.queries.fetchQuery(account).catch(() => undefined);
    if (known !== undefined) throw redirect({ href: localPath(search.next), replace: true });
  },
  component: lazyRouteComponent(() => import('./login_page.tsx'), 'LoginPage'),
});
