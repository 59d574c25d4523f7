/** docs/errors.md, written from the catalogue: every code is documented because there is no other way to have one. */
import { CATALOGUE } from '@carillon/domain';

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
