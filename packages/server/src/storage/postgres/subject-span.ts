/** Where a UUID lies in the spans by which the audit log finds the jobs that one request made. */
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Its first 60 bits as a number, in decimal digits: the whole of a bigint, and never negative. Undefined: it is no UUID. */
export function spanPlace(id: string): string | undefined {
  if (!UUID.test(id)) return undefined;
  return BigInt(`0x${id.slice(0, 8)}${id.slice(9, 13)}${id.slice(14, 17)}`).toString();
}
