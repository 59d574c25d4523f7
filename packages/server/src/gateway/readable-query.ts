/** A query whose percent signs spell no characters would be read with others in their place, and show the wrong list. */
import { Refusal } from '@carillon/domain';

export function requireReadableQuery(url: string): void {
  const start = url.indexOf('?');
  if (start < 0 || !url.includes('%', start)) return;
  try {
    decodeURIComponent(url.slice(start + 1));
  } catch (error) {
    throw new Refusal('field_invalid', 'The query is not valid: percent signs must spell UTF-8.', {
      cause: error,
    });
  }
}
