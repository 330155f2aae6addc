import { createRoute } from '@tanstack/react-router';
import { loadedPage } from '../page/load_page.tsx';
import { root_route } from '../shell/root_route.ts';
import { requireSignIn, signed_in_route } from '../shell/signed_in_route.ts';

/** Route `/account`: the person's own account. */
export const account_route = createRoute({
  getParentRoute: () => signed_in_route,
  path: 'account',
  component: loadedPage(() => import('./account_page.tsx'), 'AccountPage'),
});

/** Route `/forgot-password`: requests a link by mail. */
export const forgot_password_route = createRoute({
  getParentRoute: () => root_route,
  path: 'forgot-password',
  component: loadedPage(() => import('./forgot_password_page.tsx'), 'ForgotPasswordPage'),
});

/** Route `/reset-password/<token>`, which removes the token from the address. */
export const reset_password_route = createRoute({
  getParentRoute: () => root_route,
  path: 'reset-password/{-$token}',
  component: loadedPage(() => import('./link_pages.tsx'), 'ResetPasswordPage'),
});

/**
 * Route `/verify-email/<token>`, which removes the token from the address. Only the account's owner
 * may open it, so the sign-in comes first.
 */
export const verify_email_route = createRoute({
  getParentRoute: () => root_route,
  path: 'verify-email/{-$token}',
  beforeLoad: requireSignIn,
  component: loadedPage(() => import('./link_pages.tsx'), 'VerifyEmailPage'),
});
