import { createRoute, redirect } from '@tanstack/react-router';
import { Problem, isSignedOut } from '../http/problem.ts';
import { loadedPage } from '../page/load_page.tsx';
import { Opening } from './opening.tsx';
import { account } from '../users/account.ts';
import { root_route } from './root_route.ts';
import type { RouteContext } from './root_route.ts';

type Entering = { context: RouteContext; location: { href: string } };

/** Leads who is not signed in to the sign-in, and from there back to where they are. */
export async function requireSignIn({ context, location }: Entering): Promise<void> {
  try {
    await context.queries.ensureQueryData(account);
  } catch (error) {
    if (error instanceof Problem && isSignedOut(error))
      redirect({ to: '/login', search: { next: location.href }, replace: true, throw: true });
    throw error;
  }
}

/** What only somebody who is signed in sees. */
export const signed_in_route = createRoute({
  getParentRoute: () => root_route,
  id: 'signed_in',
  beforeLoad: requireSignIn,
  pendingComponent: Opening,
  component: loadedPage(() => import('./frame.tsx'), 'Frame'),
});
