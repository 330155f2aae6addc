import { isUtf8 } from 'node:buffer';
import { answerQuestions } from '../../../platform/processes/thread.ts';
import type { AsideQuestion, AsideReply } from './aside.ts';
import { carried } from './carried.ts';
import type { CarriedRead } from './carried.ts';
import { holdsTooMuch, readEventList } from './event_list.ts';
import { parseEvent, readEvent } from './parse.ts';
import { nextPiece } from './pieces.ts';
import { openJudge } from '../rules/intake.ts';
import type { Intake, Judge } from '../rules/intake.ts';

/** Lists that were read and not yet returned completely. */
const lists = new Map<number, Iterator<CarriedRead>>();

function readLine(
  bytes: Uint8Array,
  now: number,
  judge: Judge | undefined,
): CarriedRead | undefined {
  if (!isUtf8(bytes))
    return { problems: [{ attr: null, code: 'parse_error', detail: 'This line is not UTF-8.' }] };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  if (holdsTooMuch(text))
    return {
      problems: [
        {
          attr: null,
          code: 'invalid_input',
          detail: 'This line holds more than two million values.',
        },
      ],
    };
  return text.trim() === '' ? undefined : carried(parseEvent(text, now, judge));
}

function openList(
  list: number,
  bytes: Uint8Array,
  now: number,
  judge: Judge | undefined,
): AsideReply {
  const opened = readEventList(bytes);
  if ('fault' in opened) return { kind: 'list', ...opened };
  const { values, is_list } = opened;
  lists.set(list, readAll(values, now, judge));
  return { kind: 'list', is_list };
}

function* readAll(
  values: unknown[],
  now: number,
  judge: Judge | undefined,
): Generator<CarriedRead> {
  for (const index of values.keys()) {
    const value = values[index];
    // A returned item is no longer needed.
    values[index] = undefined;
    yield carried(readEvent(value, now, judge));
  }
}

function more(list: number): AsideReply {
  const reads = lists.get(list);
  if (reads === undefined) return { kind: 'gone' };
  const piece = nextPiece(reads, (read) => read.event?.bytes ?? 0);
  if (piece.is_last) lists.delete(list);
  return { kind: 'more', ...piece };
}

function judgeOf(intake: Intake | undefined): Judge | undefined {
  return intake === undefined ? undefined : openJudge(intake);
}

function answer(question: AsideQuestion): AsideReply | undefined {
  switch (question.kind) {
    case 'line':
      return {
        kind: 'line',
        read: readLine(question.bytes, question.now, judgeOf(question.intake)),
      };
    case 'list':
      return openList(question.list, question.bytes, question.now, judgeOf(question.intake));
    case 'more':
      return more(question.list);
    case 'drop':
      lists.delete(question.list);
      return undefined;
  }
}

/** Returns the buffers of an answer that are moved instead of copied. */
function buffersOf(reply: AsideReply): ArrayBuffer[] {
  const reads = reply.kind === 'more' ? reply.reads : reply.kind === 'line' ? [reply.read] : [];
  return reads.flatMap((read) => read?.event?.written?.buffer ?? []);
}

// Answers are small or text: the event loop receives both cheaply.
answerQuestions(answer, buffersOf);
