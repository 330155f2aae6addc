import { Fault } from '../../fault.ts';
import { isTimeZone } from '../../values/literals.ts';
import type { Expression } from '../../parse/tree.ts';
import { plain_traits } from '../../values/value.ts';
import type { Value } from '../../values/value.ts';
import { typeOf } from '../../values/value_type.ts';
import type { QueryWriter } from '../../values/writer.ts';

const text_characters_max = 1_000;
const size_max = 1_000;
const units = ['second', 'minute', 'hour', 'day', 'week', 'month', 'quarter', 'year'];

/**
 * Reads an argument that must be a literal of the query itself: its ClickHouse text, and its value.
 * Where ClickHouse accepts no parameter, numbers and units become part of the text; they are digits
 * and words of a closed list. Throws a `Fault` for anything else.
 */
export function readLiteral(
  writer: QueryWriter,
  name: string,
  form: string,
  node: Expression | undefined,
  value: Value | undefined,
): { text: string; value: Value } {
  const span = node ?? value?.span ?? { start: 0, end: 0 };
  const refuse = (what: string): never => {
    throw new Fault(`\`${name}\` takes ${what} here, written in the query itself.`, span);
  };
  const created = (text: string, literal: string | number): { text: string; value: Value } => ({
    text,
    value: {
      sql: text,
      type: typeOf(typeof literal === 'number' ? 'integer' : 'text'),
      span,
      traits: plain_traits,
      literal,
    },
  });
  const content = value?.literal ?? (node?.kind === 'text' ? node.value : undefined);
  switch (form) {
    case '#zone':
      return typeof content === 'string' && isTimeZone(content)
        ? created(writer.parameter('String', content), content)
        : refuse("a time zone such as 'Europe/Berlin'");
    case '#unit':
      return typeof content === 'string' && units.includes(content.toLowerCase())
        ? created(content.toLowerCase(), content)
        : refuse(`a unit ('${units.join("', '")}')`);
    case '#interval': {
      const interval = intervalOf(node);
      return interval === undefined
        ? refuse('an interval such as INTERVAL 15 MINUTE')
        : created(interval.text, interval.count);
    }
    case '#integer':
    case '#size': {
      const isWhole = typeof content === 'bigint' && content >= -9999n && content <= 9999n;
      if (!isWhole || (form === '#size' && (content < 1n || content > size_max)))
        return refuse(
          form === '#size' ? `a whole number from 1 to ${size_max}` : 'a small whole number',
        );
      return created(content.toString(), Number(content));
    }
    case '#token':
      if (typeof content !== 'string' || !/^[A-Za-z0-9\u0080-\uffff]{1,1000}$/.test(content))
        return refuse('one word of letters and digits');
      return created(writer.parameter('String', content), content);
    default:
      if (typeof content !== 'string' || content.length > text_characters_max)
        return refuse(`text of at most ${text_characters_max} characters`);
      return created(
        form === '#pattern' ? writer.pattern(content, span) : writer.parameter('String', content),
        content,
      );
  }
}

function intervalOf(node: Expression | undefined): { text: string; count: number } | undefined {
  if (node?.kind !== 'interval' || node.count.kind !== 'number') return undefined;
  const { unit, count } = node;
  if (!/^[1-9]\d{0,5}$/.test(count.digits)) return undefined;
  return {
    text: `toInterval${unit.charAt(0)}${unit.slice(1).toLowerCase()}(${count.digits})`,
    count: Number(count.digits),
  };
}
