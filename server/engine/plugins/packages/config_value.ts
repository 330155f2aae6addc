import type { ConfigField } from '../plugin.ts';
import { isFields } from '../../../platform/fields.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

type ValueFault = { code: 'invalid_choice' | 'invalid_input'; detail: string };

/** Null and the empty text count as no value. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/**
 * Returns why this given value is invalid for the field: a code of the API's list and a sentence,
 * never the value, which may be a secret.
 */
export function valueFault(field: ConfigField, value: unknown): ValueFault | undefined {
  if (field.type === 'attachment')
    return isAttachment(value)
      ? undefined
      : {
          code: 'invalid_input',
          detail:
            'Must be an object {file_name, content_type, contents} of texts, the contents in ' +
            'base64.',
        };
  if (typeof value !== 'string')
    return {
      code: 'invalid_input',
      detail: field.type === 'json' ? 'Must be text that is JSON.' : 'Must be text.',
    };
  if (field.type === 'choice' && field.choices?.includes(value) !== true)
    return {
      code: 'invalid_choice',
      detail: `Must be one of ${(field.choices ?? []).map((choice) => `"${choice}"`).join(', ')}.`,
    };
  if (field.type === 'json' && parseJson(value) === undefined)
    return { code: 'invalid_input', detail: 'Must be text that is JSON.' };
  return undefined;
}

function isAttachment(value: unknown): boolean {
  if (!isFields(value)) return false;
  const { file_name, content_type, contents, ...others } = value;
  if (
    typeof file_name !== 'string' ||
    typeof content_type !== 'string' ||
    typeof contents !== 'string' ||
    Object.keys(others).length > 0
  )
    return false;
  return contents.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(contents);
}
