import { useSyncExternalStore } from 'react';
import type { ListSearch } from './overview.ts';

/** A named set of filters and order, stored in a person's browser. */
export type SavedView = { name: string; search: ListSearch };

const views_max = 20;
const keyOf = (project_id: string) => `export_views_${project_id}`;
const watchers = new Set<() => void>();

/** Stores a view, replacing one with the same name; above 20, the oldest is dropped. */
export function saveView(project_id: string, view: SavedView): void {
  const others = viewsIn(stored(project_id)).filter(({ name }) => name !== view.name);
  store(project_id, [...others, view].slice(-views_max));
}

/** Removes a view by its name. */
export function removeView(project_id: string, name: string): void {
  store(
    project_id,
    viewsIn(stored(project_id)).filter((view) => view.name !== name),
  );
}

/** Returns the stored views of a project, oldest first. */
export function useSavedViews(project_id: string): SavedView[] {
  return viewsIn(
    useSyncExternalStore(
      (changed) => {
        watchers.add(changed);
        addEventListener('storage', changed);
        return () => {
          watchers.delete(changed);
          removeEventListener('storage', changed);
        };
      },
      () => stored(project_id),
    ),
  );
}

/** Reads views from their text; ignores invalid content. */
export function viewsIn(text: string): SavedView[] {
  try {
    const views: unknown = JSON.parse(text);
    return Array.isArray(views) ? views.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(view: unknown): view is SavedView {
  if (typeof view !== 'object' || view === null || !('name' in view) || !('search' in view))
    return false;
  const { name, search } = view;
  return (
    typeof name === 'string' &&
    typeof search === 'object' &&
    search !== null &&
    Object.values(search).every((value) => typeof value === 'string')
  );
}

const stored = (project_id: string): string => localStorage.getItem(keyOf(project_id)) ?? '[]';

function store(project_id: string, views: SavedView[]): void {
  localStorage.setItem(keyOf(project_id), JSON.stringify(views));
  for (const tell of watchers) tell();
}
