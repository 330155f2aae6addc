import { answerQuestions } from '../../processes/thread.ts';
import { ApiError } from '../errors.ts';
import type { BodyQuestion, BodyReply } from './aside.ts';
import { readJson } from './json_text.ts';

answerQuestions<BodyQuestion, BodyReply>(({ bytes, values_max }) => {
  try {
    return { read: readJson(bytes, values_max) };
  } catch (error) {
    if (error instanceof ApiError) return { refused: error.message };
    throw error;
  }
});
