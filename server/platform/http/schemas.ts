import { Type } from 'typebox';

/** An instant on the wire: ISO 8601 with a zone. */
export const instant = (description?: string) => textOf('date-time', description);

/** A UUID on the wire. */
export const uuid = (description?: string) => textOf('uuid', description);

function textOf<Format extends string>(format: Format, description: string | undefined) {
  return Type.String({ format, ...(description === undefined ? {} : { description }) });
}
