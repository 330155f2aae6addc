import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const day_seconds = 86_400;
/** The longest time for which a rotated key keeps working: apps that nobody updates live long. */
const overlap_seconds_max = 366 * day_seconds;
/** Default time for which a rotated key keeps working, so that pages and caches can be updated. */
export const overlap_seconds_usual = 7 * day_seconds;

/** A write key in answers. It is public, so answers show it whole. */
export const WriteKey = titled('WriteKey', {
  id: uuid(),
  name: text('Where it is used.'),
  value: text(
    'The key (`slp_...`), public: it sends events and reads the settings of SDKs, and does ' +
      'nothing else.',
  ),
  expires_at: nullable(
    instant('Time from which the key is refused, after a rotation. Null: never.'),
  ),
  last_used_at: nullable(instant('Precise to the minute; null: never used.')),
  created_at: instant(),
  updated_at: instant(),
  managed_by: ManagedBy,
});

/** The answer that creates a key. */
export const NewWriteKey = titled('NewWriteKey', {
  ...WriteKey.properties,
  value: Type.Optional(text('The key (`slp_...`). `validate_only` neither creates nor shows one.')),
});

/** A write key as SELECT returns it. */
export type WriteKeyRow = Static<typeof WriteKey>;

const name = lineOfText(100, 'Where it is used; white space around it is removed.');

/** Body of POST. */
export const WriteKeyCreate = Type.Object({ name });
/** Body of PUT. */
export const WriteKeyPut = Type.Object({ name });
/** Body of PATCH: only the sent fields change. */
export const WriteKeyPatch = Type.Object({ name: Type.Optional(name) });
/** Body of `roll/`. */
export const WriteKeyRoll = Type.Object({
  overlap_seconds: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: overlap_seconds_max,
      description: 'How long the old key still works; default 604800, a week.',
    }),
  ),
});
