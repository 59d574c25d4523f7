import { describe, expect, it } from 'vitest';
import { DEFAULT_COST, Passwords } from './passwords.ts';

const CHEAP = { memoryKib: 64, passes: 1, parallelism: 1 };

describe('passwords', () => {
  it('are kept as argon2id, with their parameters and a salt of their own', async () => {
    const passwords = new Passwords();
    const [first, second] = await Promise.all([
      passwords.hash('a long phrase'),
      passwords.hash('a long phrase'),
    ]);
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(first).not.toBe(second);
    expect(await passwords.verify('a long phrase', first)).toBe(true);
    expect(await passwords.verify('a long phrasf', first)).toBe(false);
  });

  it('written with other parameters are still understood', async () => {
    const stored = await new Passwords(CHEAP).hash('a long phrase');
    expect(stored).toContain('m=64,t=1,p=1');
    expect(await new Passwords({ ...CHEAP, passes: 2 }).verify('a long phrase', stored)).toBe(true);
  });

  it('typed with another spelling of the same letters are the same', async () => {
    const passwords = new Passwords(CHEAP);
    const stored = await passwords.hash('un mot de passé'.normalize('NFC'));
    expect(await passwords.verify('un mot de passé'.normalize('NFD'), stored)).toBe(true);
  });

  it('of nobody are compared as well, and never fit', async () => {
    const passwords = new Passwords(CHEAP);
    expect(await passwords.verify('', undefined)).toBe(false);
    expect(await passwords.verify('a long phrase', undefined)).toBe(false);
  });

  it('a stored hash that cannot be read is a fault, not a wrong password', async () => {
    await expect(new Passwords(CHEAP).verify('x', '$2b$10$something')).rejects.toThrow('cannot be read');
  });

  it('wait in a line that ends: past it, people are asked to come back', async () => {
    const passwords = new Passwords({ ...CHEAP, memoryKib: 1_024 });
    const many = Array.from({ length: 80 }, () => passwords.hash('a long phrase'));
    const ended = await Promise.allSettled(many);
    const refused = ended.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(80 - 66);
    expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ code: 'overloaded' });
    expect(await passwords.hash('and then it goes on')).toContain('$argon2id$');
  });

  it('cost by default what is recommended at least', () => {
    expect(DEFAULT_COST).toEqual({ memoryKib: 19_456, passes: 2, parallelism: 1 });
  });
});
