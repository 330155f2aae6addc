import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { any_grapheme } from '../../../test/factories/any_character.ts';
import { randomBase62 } from '../http/caller/api_key.ts';
import { passwordFault } from './password_rules.ts';

const own = ['grace.hopper@navy.example.com', 'Grace', 'Hopper'];

test('a password that everybody would guess is refused', () => {
  const guessed = [
    'passwordpassword',
    'Password1234',
    'P@ssw0rd12345',
    'PASSWORD!!!!',
    '123456789012',
    '098765432109',
    'aaaaaaaaaaaa',
    'abababababab',
    'abcdefghijklm',
    'qwertyuiopas',
    'qwertzuiopü+',
    '1q2w3e4r5t6y',
    'iloveyou1234',
    'letmein123456',
    'Welcome2026!',
    'administrator',
    'correcthorsebatterystaple',
    'сссссссссссс',
  ];
  for (const password of guessed) assert.ok(passwordFault(password, own), password);
});

test('the own address and names are worth nothing', () => {
  for (const password of [
    'grace.hopper@navy.example.com',
    'GraceHopper1',
    'hopperhopper',
    'gracegrace12',
    'gracenavy123',
    'ＧｒａｃｅHopper1',
  ])
    assert.ok(passwordFault(password, own), password);
  assert.equal(passwordFault('gracehopper1', ['somebody@example.com', '', '']), undefined);
});

test('phrases, other scripts and managed passwords are taken; no character is asked for', () => {
  for (const password of [
    'tidal lamp orchid crust',
    'wir gingen spät nach hause',
    'пирог под луной',
    '窓の外に猫がいる午後三時です',
    '🦊🌵🚲🍉🎻🧊🪁🦉🍋🛶🧭🌋',
    'vTq8#mZr2!pL',
  ])
    assert.equal(passwordFault(password, own), undefined, password);
});

test('random passwords are taken', () => {
  for (let round = 0; round < 200; round += 1)
    assert.equal(passwordFault(randomBase62().slice(0, 16), own), undefined);
});

test('any password gets an answer, and a longer repetition never helps', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: any_grapheme, maxLength: 40 }),
      fc.array(fc.string({ maxLength: 20 }), { maxLength: 3 }),
      (password, words) => {
        const fault = passwordFault(password, words);
        assert.ok(fault === undefined || fault.length > 0);
        if ([...password.normalize('NFKC').toLowerCase()].length <= 4) assert.ok(fault);
      },
    ),
  );
});
