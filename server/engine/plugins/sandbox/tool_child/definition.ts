import { withDynamic, withTruePages } from './choices.ts';
import type { ChoiceFunctions } from './choices.ts';

/** A destination as the library's code gives it. */
export type Definition = {
  name: string;
  slug?: string;
  authentication?: object;
  onDelete?: unknown;
  actions: Record<string, Action>;
} & Record<string, unknown>;
type Action = {
  title?: string;
  description?: string;
  defaultSubscription?: string;
  syncMode?: { default?: string };
  fields: Parameters<typeof withDynamic>[0];
  performBatch?: unknown;
  dynamicFields?: ChoiceFunctions;
};

/** The actions, with the functions that give choices for their fields. */
export function actionsOf({ actions }: Definition): Record<string, Action> {
  return Object.fromEntries(
    Object.entries(actions).map(([key, action]) => [
      key,
      action.dynamicFields === undefined
        ? action
        : { ...action, dynamicFields: withTruePages(action.dynamicFields) },
    ]),
  );
}

/** Returns the destination as data, without functions. */
export function describe({ authentication, audienceConfig, ...definition }: Definition): unknown {
  const { scheme, fields } = (authentication ?? {}) as { scheme?: string; fields?: object };
  const actions = Object.entries(definition.actions);
  return {
    name: definition.name,
    slug: definition.slug,
    description: definition['description'],
    scheme: scheme ?? null,
    is_audience: audienceConfig !== undefined,
    settings: fields ?? {},
    actions: Object.fromEntries(
      actions.map(([key, action]) => [
        key,
        {
          title: action.title,
          description: action.description,
          subscribe: action.defaultSubscription,
          sync_mode: action.syncMode?.default,
          fields: withDynamic(action.fields, action.dynamicFields),
        },
      ]),
    ),
    presets: definition['presets'] ?? [],
  };
}
