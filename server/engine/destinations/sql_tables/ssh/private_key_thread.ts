import { answerQuestions } from '../../../../platform/processes/thread.ts';
import type { KeyQuestion, KeyReply } from './private_key.ts';
import { openSealedKey, readSealedKey } from './sealed_key.ts';

answerQuestions<KeyQuestion, KeyReply>(({ private_key, passphrase }) => {
  const sealed = readSealedKey(private_key);
  return { opened: sealed && openSealedKey(sealed, passphrase) };
});
