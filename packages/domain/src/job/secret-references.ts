/**
 * `{{secrets.name}}` in the strings of a payload: found and replaced in its JSON text, where names need no escape. The reference is
 * what is stored and shown; `{{!secrets.` stands for the text `{{secrets.` itself.
 */
import { isSecretName } from '../access/secret.ts';
import { Refusal, refuseValue } from '../errors/refusal.ts';

const BEGIN = '{{secrets.';
const LITERAL = '{{!secrets.';
const REFERENCE = /\{\{(!?)secrets\.(?:([a-z0-9._-]{1,64})\}\})?/g;
const SPACED = /\{\{ +!? *secrets\./;
/** Of what a refusal quotes. */
const QUOTED_MAX = 80;
const NAMED_MAX = 5;

/** Cheap: most payloads name none. */
export function namesSecrets(payload: string): boolean {
  return payload.includes(BEGIN);
}

/** Whether a payload that is about to be stored names secrets, or was meant to. */
export function meansSecrets(payload: string): boolean {
  return namesSecrets(payload) || SPACED.test(payload);
}

/** Templates elsewhere allow spaces. Here such text would reach the handler as it is, in place of the secret. */
export function refuseSpacedReferences(payload: string): void {
  if (!SPACED.test(payload)) return;
  refuseValue(
    'payload',
    '{{ secrets.x }} in the payload names no secret: write {{secrets.x}} without spaces, or {{!secrets. for the text {{secrets. itself.',
  );
}

/** Whether replaceSecrets has anything to do. */
export function holdsReferences(payload: string): boolean {
  return namesSecrets(payload) || payload.includes(LITERAL);
}

/** Each once. What only begins like a reference is refused: it would reach the handler as it is. */
export function readSecretNames(payload: string): readonly string[] {
  const names = new Set<string>();
  for (const match of payload.matchAll(REFERENCE)) {
    const [, isLiteral, name] = match;
    if (isLiteral) continue;
    if (name === undefined || !isSecretName(name)) {
      const [shown] = /^[^"\\\s]*/.exec(payload.slice(match.index, match.index + QUOTED_MAX))!;
      refuseValue(
        'payload',
        `${shown} in the payload names no secret: write {{secrets.name}} with the name of one, or {{!secrets. for the text {{secrets. itself.`,
      );
    } else names.add(name);
  }
  return [...names];
}

/** Values are escaped as JSON strings. One that valueNamed does not know stays a reference. */
export function replaceSecrets(payload: string, valueNamed: (name: string) => string | undefined): string {
  return payload.replaceAll(REFERENCE, (reference: string, isLiteral: string, name: string | undefined) => {
    if (isLiteral) return `${BEGIN}${reference.slice(LITERAL.length)}`;
    const value = name === undefined ? undefined : valueNamed(name);
    return value === undefined ? reference : JSON.stringify(value).slice(1, -1);
  });
}

export function unknownSecrets(names: readonly string[], namespace: string): Refusal {
  const shown = names.slice(0, NAMED_MAX).join(', ');
  const more = names.length > NAMED_MAX ? `, and ${names.length - NAMED_MAX} more` : '';
  const message = `There is no secret ${shown}${more} in the namespace ${namespace}, and the payload names it.`;
  return new Refusal('secret_unknown', message, { field: 'payload' });
}
