import { Type } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';

/** The description of a key whose title needs one. */
export function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description };
}

/** A text that every config has, and that is not empty. */
export function requiredText(maxLength: number, description?: string) {
  return Type.String({ minLength: 1, maxLength, ...described(description) });
}

/** A text that a config may leave out, or have as null or empty: then it has none. */
export function optionalText(maxLength: number, description?: string) {
  return Type.Optional(
    nullable(Type.String({ maxLength, default: null, ...described(description) })),
  );
}

/** A text that is not empty, and is this one where it is left out. */
export function defaultText(text: string, maxLength: number, description: string) {
  return Type.Optional(Type.String({ minLength: 1, maxLength, default: text, description }));
}

/** True or false; this one where it is left out. */
export function defaultFlag(is_set: boolean, description: string) {
  return Type.Optional(Type.Boolean({ default: is_set, description }));
}

/** One of a few words; the first one where it is left out. */
export function defaultChoice<const Word extends string>(
  words: readonly [Word, ...Word[]],
  description: string,
) {
  return Type.Optional(
    Type.Unsafe<Word>({ type: 'string', enum: [...words], default: words[0], description }),
  );
}

/** The port of a server; this one where it is left out. */
export function defaultPort(port: number) {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, default: port }));
}
