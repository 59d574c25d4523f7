import type { JsonValue } from '@carillon/domain';
import { describe, expect, it } from 'vitest';
import { claimedRun } from './claimed-run.fixture.ts';
import type { OutputChunk, Progress, RunChannel } from './run-channel.ts';
import { RunVoice } from './run-voice.ts';
import { SecretMask } from './secret-mask.ts';

class HeardChannel implements RunChannel {
  readonly heard: string[] = [];
  readonly progressed: Progress[] = [];
  readonly saved: string[] = [];
  closed = 0;

  output(_: unknown, { stream, atMs, bytes }: OutputChunk): undefined {
    this.heard.push(`${atMs} ${stream} ${Buffer.from(bytes).toString()}`);
  }

  progress(_: unknown, progress: Progress): void {
    this.progressed.push(progress);
  }

  async saveCheckpoint(_: unknown, value: string): Promise<void> {
    this.saved.push(value);
  }

  close(): undefined {
    this.closed += 1;
  }
}

function voiceOf(checkpoint?: string) {
  const channel = new HeardChannel();
  return { channel, voice: new RunVoice({ run: claimedRun({ checkpoint }), channel, now: () => 7 }) };
}

describe('RunVoice', () => {
  it('shows the end of what was written, but no beginning of a secret where the run was stopped', () => {
    const heardBy = (isCut: boolean) => {
      const channel = new HeardChannel();
      const mask = SecretMask.of(['correct-horse']);
      const voice = new RunVoice({ run: claimedRun(), channel, now: () => 7, mask });
      void voice.write('stdout', Buffer.from('it is correct-hors'));
      void voice.close({ isCut });
      return channel.heard;
    };
    expect(heardBy(false)).toEqual(['7 stdout it is ', '7 stdout correct-hors']);
    expect(heardBy(true)).toEqual(['7 stdout it is ', '7 stdout ***']);
  });

  it('sends lines and bytes in order, with the time', () => {
    const { voice, channel } = voiceOf();
    voice.info('one');
    voice.error('two');
    void voice.write('system', Buffer.from('three'));
    expect(channel.heard).toEqual(['7 stdout one\n', '7 stderr two\n', '7 system three']);
  });

  it('ends the lines that have no end, the one that began first before the others', () => {
    const { voice, channel } = voiceOf();
    void voice.write('stderr', Buffer.from('done\nfatal: '));
    void voice.write('stdout', Buffer.from('half'));
    void voice.write('stderr', Buffer.from('disk full'));
    channel.heard.length = 0;
    voice.endLines();
    voice.endLines();
    voice.info('whole');
    voice.endLines();
    expect(channel.heard).toEqual(['7 stderr \n', '7 stdout \n', '7 stdout whole\n']);
  });

  it('ends a line also where a secret may have begun in it, and shows nothing of that if it was stopped', () => {
    const heardBy = (isCut: boolean) => {
      const channel = new HeardChannel();
      const mask = SecretMask.of(['correct-horse']);
      const voice = new RunVoice({ run: claimedRun(), channel, now: () => 7, mask });
      void voice.write('stdout', Buffer.from('correct-hors'));
      voice.endLines({ isCut });
      void voice.close({ isCut });
      return channel.heard;
    };
    expect(heardBy(false)).toEqual(['7 stdout correct-hors', '7 stdout \n']);
    expect(heardBy(true)).toEqual(['7 stdout ***', '7 stdout \n']);
  });

  it('keeps progress between 0 and 100', () => {
    const { voice, channel } = voiceOf();
    voice.progress(-3);
    voice.progress(40, 'half');
    voice.progress(Number.POSITIVE_INFINITY);
    voice.progress(Number.NaN);
    expect(channel.progressed.map(({ percent }) => percent)).toEqual([0, 40, 100]);
  });

  it('refuses what is larger than it may be, with the limit, before anything is sent', async () => {
    const { voice, channel } = voiceOf();
    const fits = 'ä'.repeat(128 * 1_024 - 1);
    await voice.save(fits);
    await expect(voice.save(`${fits}ä`)).rejects.toMatchObject({
      ...{ retryable: false, message: expect.stringContaining('has 262146 bytes; at most 262144 are kept') },
    });
    expect(channel.saved).toHaveLength(1);
    expect(voice.value).toBe(fits);
    voice.progress(1, 'x'.repeat(200));
    expect(() => voice.progress(2, 'x'.repeat(5_000_000))).toThrow(
      'has 5000000 characters; at most 200 are shown',
    );
    expect(channel.progressed).toHaveLength(1);
  });

  it('is closed once a save that the handler did not wait for is done, whether it failed or not', async () => {
    for (const end of ['resolve', 'reject'] as const) {
      const { voice, channel } = voiceOf();
      const saving = Promise.withResolvers<void>();
      channel.saveCheckpoint = () => saving.promise;
      void voice.save(1);
      const closing = voice.close();
      expect(channel.closed).toBe(0);
      saving[end]();
      await closing;
      expect(channel.closed).toBe(1);
    }
  });

  it('begins with the checkpoint of an earlier attempt, and goes on with its own', async () => {
    const { voice, channel } = voiceOf('{"page":3}');
    expect(voice.value).toEqual({ page: 3 });
    await voice.save({ page: 4 });
    expect(voice.value).toEqual({ page: 4 });
    expect(channel.saved).toEqual(['{"page":4}']);
  });

  it('refuses a checkpoint that is not JSON', async () => {
    const { voice } = voiceOf();
    await expect(voice.save((() => 1) as unknown as JsonValue)).rejects.toThrow('not JSON');
  });

  it('drops what is said after the end', async () => {
    const { voice, channel } = voiceOf();
    void voice.close();
    void voice.close();
    voice.info('late');
    voice.progress(50);
    await expect(voice.save(1)).rejects.toThrow();
    expect([channel.heard, channel.progressed, channel.saved, channel.closed]).toEqual([[], [], [], 1]);
  });

  it('masks secrets in output, also over two writes, and in progress; a checkpoint is the handler’s own', async () => {
    const channel = new HeardChannel();
    const mask = SecretMask.of(['hunter2hunter2']);
    const voice = new RunVoice({ run: claimedRun(), channel, now: () => 7, mask });
    void voice.write('stdout', Buffer.from('token hunter2'));
    voice.error('not hunter2 alone');
    void voice.write('stdout', Buffer.from('hunter2, and hunt'));
    voice.progress(10, 'using hunter2hunter2');
    await voice.save('hunter2hunter2');
    void voice.close();
    expect(channel.heard).toEqual([
      '7 stdout token ',
      '7 stderr not hunter2 alone\n',
      '7 stdout ***, and ',
      '7 stdout hunt',
    ]);
    expect(channel.progressed).toEqual([{ percent: 10, message: 'using ***' }]);
    expect(channel.saved).toEqual(['"hunter2hunter2"']);
  });

  it('waits for a save only for a moment once the run has to stop, so that its handler hears of it', async () => {
    const stop = new AbortController();
    const channel = new HeardChannel();
    const options = { run: claimedRun(), channel, now: () => 7, signal: () => stop.signal, saveMsMax: 1 };
    const voice = new RunVoice(options);
    channel.saveCheckpoint = () => new Promise(() => undefined);
    const saving = expect(voice.save(1)).rejects.toThrow('not saved before the run had to stop');
    stop.abort();
    await saving;
    await voice.close({ isCut: true });
    expect(channel.closed).toBe(1);
  });

  it('saves where a run goes on from while it is being stopped', async () => {
    const channel = new HeardChannel();
    const signal = AbortSignal.abort();
    await new RunVoice({ run: claimedRun(), channel, now: () => 7, signal: () => signal }).save(1);
    expect(channel.saved).toEqual(['1']);
  });
});
