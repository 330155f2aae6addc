import { useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Overview } from './found_exports.ts';
import { foundExports } from './found_exports.ts';
import { addressOf } from '../../http/address.ts';
import { useHome } from '../../signed_in/home.ts';
import { organizations } from '../../signed_in/organizations.ts';
import { shownActions } from '../../page/actions.ts';
import { account_page, organization_pages, project_pages } from '../pages.ts';
import { useSignOut } from '../sign_out.ts';
import { themes } from '../themes.ts';
import { matching } from './matches.ts';

/** An entry of the palette. */
export type Item = {
  group: 'This page' | 'Exports' | 'Pages' | 'Actions' | 'Projects';
  label: string;
  /** Other search words, which match after all labels. */
  also?: readonly string[];
  /** The text beside the label. */
  hint?: string;
  /** Runs it; the palette then stays open and shows a returned sentence. */
  run: () => Promise<string | undefined> | string | undefined | Promise<void> | void;
};

/**
 * Returns the items that match the typed text: of this page, exports by name, pages, actions, other
 * projects.
 */
export function useItems(typed: string): Item[] {
  const { project_id } = useHome();
  // The actions of the page at the time of opening the palette.
  const [actions] = useState(() =>
    shownActions().map((action): Item => ({ group: 'This page', ...action })),
  );
  const { data } = useQuery(foundExports(project_id, typed));
  const pages = usePages();
  const rest = useRest();
  return [
    ...matching(actions, typed),
    ...useExports(data),
    ...matching(pages, typed),
    ...matching(rest, typed),
  ];
}

function useExports(found: Overview | undefined): Item[] {
  const navigate = useNavigate();
  return (found?.results ?? []).map(({ id, team_id, name, health }) => ({
    group: 'Exports',
    label: name,
    hint: health.detail,
    run: () =>
      navigate({
        to: '/projects/$project_id/exports/$export_id',
        params: { project_id: String(team_id), export_id: id },
      }),
  }));
}

function usePages(): Item[] {
  const { project_id, organization_id } = useHome();
  const navigate = useNavigate();
  const group = 'Pages' as const;
  return [
    ...(project_id === undefined ? [] : project_pages).map(({ icon: _icon, to, ...page }) => ({
      group,
      ...page,
      run: () => navigate({ to, params: { project_id: project_id! } }),
    })),
    ...(organization_id === undefined ? [] : organization_pages).map(
      ({ icon: _icon, to, ...page }) => ({
        group,
        ...page,
        label: page.label === 'Settings' ? 'Organization settings' : page.label,
        run: () => navigate({ to, params: { organization_id: organization_id! } }),
      }),
    ),
    { group, ...account_page, run: () => navigate({ to: account_page.to }) },
  ];
}

function useRest(): Item[] {
  const { project_id } = useHome();
  const navigate = useNavigate();
  const signOut = useSignOut();
  const { setColorScheme } = useMantineColorScheme();
  const { data } = useQuery(organizations);
  const group = 'Actions' as const;
  const create = (id: string): Item => ({
    group,
    label: 'New export',
    run: () => navigate({ to: '/projects/$project_id/exports/new', params: { project_id: id } }),
  });
  const projects = (data?.results ?? []).flatMap(({ name, teams }) =>
    teams.map((team): Item => ({
      group: 'Projects',
      label: team.name,
      hint: name,
      run: () =>
        navigate({
          to: '/projects/$project_id/exports',
          params: { project_id: String(team.id) },
        }),
    })),
  );
  return [
    ...(project_id === undefined ? [] : [create(project_id)]),
    ...themes.map(({ value, label }) => ({
      group,
      label: `Theme: ${label.toLowerCase()}`,
      run: () => setColorScheme(value),
    })),
    {
      group,
      label: 'Documentation',
      run: () => globalThis.location.assign(addressOf('/docs/')),
    },
    {
      group,
      label: 'Operations of the API',
      run: () => globalThis.location.assign(addressOf('/docs/operations/')),
    },
    { group, label: 'Sign out', run: signOut },
    ...(projects.length > 1 ? projects : []),
  ];
}
