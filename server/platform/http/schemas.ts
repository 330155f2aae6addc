import { Type } from 'typebox';

/** An instant on the wire: ISO 8601 with a zone. */
export const instant = (description: string) => Type.String({ format: 'date-time', description });

/** A UUID on the wire. */
export const uuid = (description: string) => Type.String({ format: 'uuid', description });
