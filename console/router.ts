import type { QueryClient } from '@tanstack/react-query';
import { createRouter } from '@tanstack/react-router';
import { base_path } from './http/address.ts';
import { exports_route } from './batch_exports/routes.ts';
import { invite_route } from './invites/routes.ts';
import { project_route, start_route } from './projects/routes.ts';
import { login_route } from './sessions/routes.ts';
import { root_route } from './shell/root_route.ts';
import { signed_in_route } from './shell/signed_in_route.ts';
import {
  account_route,
  forgot_password_route,
  reset_password_route,
  verify_email_route,
} from './users/routes.ts';

/** Every page that there is, one line each. */
const routes = root_route.addChildren([
  login_route,
  forgot_password_route,
  reset_password_route,
  verify_email_route,
  invite_route,
  signed_in_route.addChildren([
    start_route,
    account_route,
    project_route.addChildren([exports_route]),
  ]),
]);

/** What stands in the address behind `?`: texts, as they are written there. */
const parseSearch = (text: string) => Object.fromEntries(new URLSearchParams(text));
const stringifySearch = (search: Record<string, unknown>) => {
  const given = Object.entries(search).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  );
  const text = new URLSearchParams(given).toString();
  return text === '' ? '' : `?${text}`;
};

/** The router over all pages. */
export function openRouter(queries: QueryClient) {
  const router = createRouter({
    routeTree: routes,
    basepath: base_path,
    context: {
      queries,
      signedOut: () => {
        const { matches, location } = router.state;
        if (!matches.some(({ routeId }) => routeId === signed_in_route.id)) return;
        queries.clear();
        void router.navigate({ to: '/login', search: { next: location.href }, replace: true });
      },
    },
    parseSearch,
    stringifySearch,
    scrollRestoration: true,
    defaultPreload: 'intent',
  });
  return router;
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof openRouter>;
  }
}
