import type { PluginChoices } from '../../../../server/api/plugin_configs/choices/schema.ts';
import type { ToolMapping } from '../../../../server/api/plugins/schema.ts';
import { ask } from '../../../http/ask.ts';
import { pathTo } from '../../../http/path.ts';
import type { ToolPlace } from '../use_preview.ts';

/** Asks the tool for the values of a field; `form` has the settings as they are typed. */
export type AskChoices = {
  /** The same text for the same question. */
  keyOf(form: HTMLFormElement, field: string): string;
  offer(form: HTMLFormElement, field: string, page: string | undefined): Promise<Offer>;
};

/** The choices that a tool offered, or in words why there are none. */
export type Offer = Pick<PluginChoices, 'choices' | 'next_page' | 'omitted'> & {
  fault: string | undefined;
};

/** Returns what asks the tool for the fields of a mapping. */
export function choicesFor(place: ToolPlace, { partnerAction, mapping }: ToolMapping): AskChoices {
  const { project_id, plugin_id, config_id, settings } = place;
  const questionOf = (form: HTMLFormElement, field: string) => {
    // The value of the field itself decides nothing, but keys of an object may.
    const { [field]: _own, ...others } = mapping;
    return {
      plugin: plugin_id,
      ...(config_id === undefined ? {} : { plugin_config: config_id }),
      ...settings?.(form),
      action: partnerAction,
      field,
      mapping: others,
    };
  };
  return {
    keyOf: (form, field) => JSON.stringify(questionOf(form, field)),
    offer: async (form, field, page) => {
      const outcome = await ask(
        'POST',
        pathTo('/api/projects/:project_id/plugin_configs/choices/', { project_id }),
        { body: { ...questionOf(form, field), ...(page === undefined ? {} : { page }) } },
      );
      if (!outcome.ok)
        return { choices: [], next_page: null, omitted: 0, fault: outcome.problem.message };
      const { error, ...offered } = outcome.body;
      return { ...offered, fault: error?.detail };
    },
  };
}
