import { Type } from 'typebox';
import type { TProperties } from 'typebox';

/** An instant on the wire: ISO 8601 with a zone. */
export const instant = (description?: string) => textOf('date-time', description);

/** A UUID on the wire. */
export const uuid = (description?: string) => textOf('uuid', description);

/** A text with its description. */
export const text = (description: string) => Type.String({ description });

/** A whole number with its description. */
export const whole = (description: string) => Type.Integer({ description });

/** True or false, with its description. */
export const flag = (description: string) => Type.Boolean({ description });

/** An object with the name that it has in the API's document. */
export const titled = <Fields extends TProperties>(title: string, fields: Fields) =>
  Type.Object(fields, { title });

function textOf<Format extends string>(format: Format, description: string | undefined) {
  return Type.String({ format, ...(description === undefined ? {} : { description }) });
}
