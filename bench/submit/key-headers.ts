/** A key as a program has it: of one namespace, with a role. Made with the admin key, and sent with every request. */

export async function keyHeaders(server: {
  address: string;
  key: string | undefined;
}): Promise<Record<string, string>> {
  const made = await fetch(`${server.address}/api/keys`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench', namespace: 'default', role: 'editor' }),
  });
  if (made.status !== 201) throw new Error(`no key: ${await made.text()}`);
  return { authorization: `Bearer ${((await made.json()) as { key: string }).key}` };
}
