/** Every refusal as one shape (RFC 9457): a code for programs, a sentence and a way out for people, an id for the log. */
import { CATALOGUE, type ErrorCode, type Refusal } from '@carillon/domain';
import { z } from 'zod';

export const PROBLEM_TYPE = 'application/problem+json';

export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ErrorCode;
  readonly field?: string;
  readonly detail: string;
  readonly fix: string;
  readonly request_id: string;
  readonly errors?: readonly EntryProblem[];
}

/** What is wrong with one entry of a request that holds many. */
export interface EntryProblem {
  readonly index: number;
  readonly code: ErrorCode;
  readonly field?: string;
  readonly detail: string;
  readonly fix: string;
}

const code = z.enum(Object.keys(CATALOGUE) as [ErrorCode, ...ErrorCode[]]);
const field = z.string().optional().describe('What it is about.');
const fix = z.string().describe('What to do about it.');

export const problemAnswer = z
  .strictObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code,
    field,
    detail: z.string(),
    fix,
    request_id: z.string(),
    errors: z
      .array(
        z.strictObject({
          index: z.int().describe('Which entry, counted from 0.'),
          ...{ code, field, detail: z.string(), fix },
        }),
      )
      .optional()
      .describe('Of a request that holds many: what is wrong with which entry.'),
  })
  .meta({ id: 'Problem' });

export function problemOf(refusal: Refusal, requestId: string): Problem {
  const { code, status, entries } = refusal;
  const errors = entries.map((entry) => ({ index: entry.index, ...saidOf(entry.refusal) }));
  return {
    type: `urn:carillon:error:${code}`,
    title: titleOf(code),
    status,
    ...saidOf(refusal),
    request_id: requestId,
    ...(errors.length > 0 && { errors }),
  };
}

function saidOf({ code, field, message, fix }: Refusal): Omit<EntryProblem, 'index'> {
  return { code, ...(field !== undefined && { field }), detail: message, fix };
}

/** field_unknown → Field unknown */
export function titleOf(code: ErrorCode): string {
  const words = code.replaceAll('_', ' ');
  return words[0]!.toUpperCase() + words.slice(1);
}

/** docs/errors.md, written from the catalogue: every code is documented because there is no other way to have one. */
export function renderErrorsPage(): string {
  const rows = Object.entries(CATALOGUE).map(
    ([code, { status, fix }]) => `| \`${code}\` | ${status} | ${fix} |`,
  );
  return `${HEAD}\n${rows.join('\n')}\n`;
}

const HEAD = `# Errors

<!-- Generated from packages/domain/src/errors/catalogue.ts by renderErrorsPage(). Do not edit. -->

Every error answer is a problem document (\`application/problem+json\`, RFC 9457):

\`\`\`json
{
  "type": "urn:carillon:error:zone_unknown",
  "title": "Zone unknown",
  "status": 400,
  "code": "zone_unknown",
  "field": "time_zone",
  "detail": "No time zone is called \\"Mars/Olympus\\".",
  "fix": "Use an IANA zone name such as \\"Europe/Paris\\" or \\"UTC\\".",
  "request_id": "6f1f6a0e-6c0a-4b9e-8f57-0d6f5a3c2b1a"
}
\`\`\`

Match on \`code\`: it never changes. \`field\` names the field at fault, in snake_case, where there is one. \`request_id\` is also
in the header \`X-Request-Id\` and in the server's log. Answers with status 503, and 429 of \`rate_limited\`, carry \`Retry-After\`.

| code | status | what to do |
|---|---|---|`;
