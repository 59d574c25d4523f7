/** What a run that waits waits for, as the storage judges it, and the words that people read. */

export const WAIT_CODES = ['paused', 'not_due', 'at_limit', 'no_worker', 'claimable'] as const;
export type WaitCode = (typeof WAIT_CODES)[number];

export interface WaitsFor {
  /** claimable: it may be handed out. */
  readonly code: WaitCode;
  /** Of what is not due. */
  readonly untilMs?: number | undefined;
  /** The one that no worker offers. */
  readonly handler?: string | undefined;
}

/** Servers that others can reach run no scripts unless they are told to. */
const SCRIPTS_OFF = ': no server was started with scripts, which --script-enabled does (docs/scripts.md)';

/** Undefined: it may be handed out. */
export function waitText({ code, untilMs, handler }: WaitsFor): string | undefined {
  switch (code) {
    case 'paused':
      return 'the job is paused';
    case 'not_due':
      return `waits until ${new Date(untilMs!).toISOString()}`;
    case 'at_limit':
      return 'the job has as many runs at a time as it may';
    case 'no_worker':
      return `no worker offers the handler "${handler}"${handler === 'script' ? SCRIPTS_OFF : ''}`;
    case 'claimable':
      return undefined;
  }
}
