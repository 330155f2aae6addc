import type { AsyncRouteComponent } from '@tanstack/react-router';
import { createElement, use } from 'react';
import type { ComponentType } from 'react';
import { NotLoaded } from './not_loaded.tsx';

/**
 * Returns a component whose code is loaded when it is first drawn, or earlier by its `preload`. If
 * loading fails, `missing` is drawn, and the next `preload` tries again.
 */
export function loadedLater<Module extends object, Props extends object>(
  load: () => Promise<Module>,
  name: keyof Module,
  missing: ComponentType<Props>,
) {
  let drawn: ComponentType<Props> | undefined;
  let is_missing = false;
  let loading: Promise<void> | undefined;
  const preload = () => {
    if (drawn !== undefined) return Promise.resolve();
    is_missing = false;
    loading ??= read();
    return loading;
  };
  const read = async () => {
    try {
      // TypeScript could otherwise derive its type from the route that uses it, a cycle.
      drawn = (await load())[name] as ComponentType<Props>;
    } catch {
      is_missing = true;
    }
    loading = undefined;
  };
  const Later = (props: Props) => {
    if (drawn === undefined && !is_missing) use(preload());
    return createElement(drawn ?? missing, props);
  };
  return Object.assign(Later, { preload });
}

/**
 * The page of a route, whose code is loaded when the person is about to open it. After a failure,
 * the router's own `lazyRouteComponent` reloads the document, which shows the browser's error page
 * if the server is unreachable.
 */
export function loadedPage<Module extends object>(
  load: () => Promise<Module>,
  name: keyof Module,
): AsyncRouteComponent<object> {
  return loadedLater(load, name, NotLoaded);
}
