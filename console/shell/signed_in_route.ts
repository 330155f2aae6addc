import { createRoute, redirect } from '@tanstack/react-router';
import { Problem, isSignedOut } from '../http/problem.ts';
import { loadedPage } from '../page/load_page.tsx';
import { Opening } from './opening.tsx';
import { account } from '../users/account.ts';
import { root_route } from './root_route.ts';

/** What only somebody who is signed in sees; others are led to the sign-in, and back from there. */
export const signed_in_route = createRoute({
  getParentRoute: () => root_route,
  id: 'signed_in',
  beforeLoad: async ({ context, location }) => {
    try {
      await context.queries.ensureQueryData(account);
    } catch (error) {
      if (error instanceof Problem && isSignedOut(error))
        redirect({ to: '/login', search: { next: location.href }, replace: true, throw: true });
      throw error;
    }
  },
  pendingComponent: Opening,
  component: loadedPage(() => import('./frame.tsx'), 'Frame'),
});
