/** What a script job wants run, read from its payload. */
import { checkScriptPayload, type JsonObject, Refusal } from '@carillon/domain';
import { HandlerError } from '../../handler.ts';

export interface ScriptCall {
  readonly source: ScriptSource;
  /** Undefined: the first line of the script says it. */
  readonly interpreter: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Undefined: the payload. */
  readonly stdin: string | undefined;
  /** Standard error goes where standard output goes, in the order it was written. */
  readonly mergeOutput: boolean;
}

export type ScriptSource =
  | { readonly kind: 'inline'; readonly text: string; readonly sha256: string | undefined }
  | { readonly kind: 'path'; readonly path: string; readonly sha256: string | undefined }
  | { readonly kind: 'address'; readonly url: URL; readonly sha256: string };

export function readScriptPayload(payload: JsonObject): ScriptCall {
  try {
    checkScriptPayload(payload);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new HandlerError(error.message, { retryable: false, cause: error });
  }
  // Judged above: every member is of its type, or not given.
  const given = payload as {
    interpreter?: string | null;
    args?: readonly (string | number | boolean)[] | null;
    env?: Readonly<Record<string, string | number | boolean>> | null;
    stdin?: string | null;
    merge_output?: boolean | null;
  };
  const env = Object.entries(given.env ?? {}).map(([name, value]) => [name, String(value)] as const);
  return {
    source: sourceOf(payload),
    interpreter: given.interpreter ?? undefined,
    args: (given.args ?? []).map(String),
    env: Object.fromEntries(env),
    stdin: given.stdin ?? undefined,
    mergeOutput: given.merge_output ?? false,
  };
}

function sourceOf(payload: JsonObject): ScriptSource {
  const { script, code_location: location, sha256: digest } = payload as Record<string, string | null>;
  const sha256 = digest?.toLowerCase().replace(/^sha256:/, '');
  if (typeof script === 'string') return { kind: 'inline', text: script, sha256 };
  if (location?.startsWith('/')) return { kind: 'path', path: location, sha256 };
  return { kind: 'address', url: new URL(location ?? ''), sha256: sha256 ?? '' };
}
