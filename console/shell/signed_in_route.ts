import { createRoute, redirect } from '@tanstack/react-router';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import { Problem, isSignedOut } from '../http/problem.ts';
import { loadedPage } from '../page/load_page.tsx';
import { current_session } from '../signed_in/sessions.ts';
import { account } from '../signed_in/account.ts';
import { Opening } from './opening.tsx';
import { root_route } from './root_route.ts';
import type { RouteContext } from './root_route.ts';

type Entering = { context: RouteContext; location: { href: string } };

/** Returns the session; leads a person who is not signed in to the sign-in, and back afterwards. */
export async function requireSession({ context, location }: Entering): Promise<SessionRow> {
  const { queries } = context;
  try {
    const [session] = await Promise.all([
      queries.ensureQueryData(current_session),
      queries.ensureQueryData(account),
    ]);
    return session;
  } catch (error) {
    if (error instanceof Problem && isSignedOut(error))
      redirect({ to: '/login', search: { next: location.href }, replace: true, throw: true });
    throw error;
  }
}

/**
 * Leads a person who is not signed in to the sign-in, and one who must confirm their identity to
 * the confirmation, and back afterwards.
 */
export async function requireSignIn(entering: Entering): Promise<void> {
  const { awaits_factor } = await requireSession(entering);
  if (!awaits_factor) return;
  const search = { next: entering.location.href };
  redirect({ to: '/confirm', search, replace: true, throw: true });
}

/** Parent of pages for signed-in people. */
export const signed_in_route = createRoute({
  getParentRoute: () => root_route,
  id: 'signed_in',
  beforeLoad: requireSignIn,
  pendingComponent: Opening,
  component: loadedPage(() => import('./frame.tsx'), 'Frame'),
});
