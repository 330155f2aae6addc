import { Type } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';

/** Returns the description of a key whose title needs one. */
export function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}

/** A text that every config has and that is not empty. */
export function requiredText(maxLength: number, description?: string) {
  return Type.String({ minLength: 1, maxLength, ...described(description) });
}

/** An optional text. Absent, null and empty mean the same. */
export function optionalText(maxLength: number, description?: string) {
  return Type.Optional(
    nullable(Type.String({ maxLength, default: null, ...described(description) })),
  );
}

/** A non-empty text with a default. */
export function defaultText(text: string, maxLength: number, description: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength, default: text, description }));
}

/** A flag with a default. */
export function defaultFlag(is_set: boolean, description: string) {
  return Type.Optional(Type.Boolean({ default: is_set, description }));
}

/** One of a few words; the first one is the default. */
export function defaultChoice<const Word extends string>(
  words: readonly [Word, ...Word[]],
  description: string,
) {
  return Type.Optional(
    Type.Unsafe<Word>({ type: 'string', enum: [...words], default: words[0], description }),
  );
}

/** The port of a server, with a default. */
export function defaultPort(port: number) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: port }));
}
