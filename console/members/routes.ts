import { createRoute } from '@tanstack/react-router';
import { pageNumber } from '../http/page_number.ts';
import { organization_route } from '../organizations/routes.ts';
import { loadedPage } from '../page/load_page.tsx';

type Search = { tab?: 'invites'; form?: 'open'; page?: number; member?: string };

/**
 * Route `/organizations/<id>/members?tab=&form=&page=&member=`: the members and the selected one;
 * on the second tab the invites, with the form for more if `form` is set.
 */
export const members_route = createRoute({
  getParentRoute: () => organization_route,
  path: 'members',
  validateSearch: ({
    tab,
    form,
    page,
    member,
  }: { [name in keyof Search]?: string | number }): Search => ({
    ...pageNumber(page),
    ...(tab === 'invites' ? { tab, ...(form === 'open' ? { form } : {}) } : {}),
    ...(typeof member === 'string' ? { member } : {}),
  }),
  component: loadedPage(() => import('./members_page.tsx'), 'MembersPage'),
});
