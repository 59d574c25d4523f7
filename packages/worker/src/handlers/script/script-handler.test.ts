import { describe, expect, test } from 'vitest';
import { bash, runScript } from './script.fixture.ts';

describe('a script', () => {
  test('runs, and its output is kept apart', async () => {
    const { outcome, channel } = await runScript(
      bash('echo out; echo err >&2; echo again > /dev/stdout; id; echo $@'),
    );
    console.log(outcome, channel.text(), channel.text('stderr'), channel.text('system'));
    expect(outcome.kind).toBe('SUCCESS');
  });
});
