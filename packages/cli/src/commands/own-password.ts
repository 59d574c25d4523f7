/**
 * What outlasts a login takes the password of the person: asked for only where the server wants it, and once. Without a terminal it
 * is a line of the standard input.
 */
import { CarillonError } from '@carillon/client';
import type { Cli } from '../cli.ts';
import { askPassword } from '../output/ask.ts';

export interface Proof {
  readonly current_password?: string;
}

type WithProof = <T>(act: (proof: Proof) => Promise<T>) => Promise<T>;

/** given: the line, where the standard input was read already. */
export function ownPassword(cli: Cli, given?: string): WithProof {
  let known = given;
  return async (act) => {
    try {
      return await act({});
    } catch (error) {
      if (!isPasswordWanted(error)) throw error;
      known ??= await askOwnPassword(cli, error);
      // Without one, the refusal says what is missing.
      if (known === '') throw error;
      return act({ current_password: known });
    }
  };
}

export function isPasswordWanted(error: unknown): error is CarillonError {
  return error instanceof CarillonError && error.code === 'password_required';
}

/** Says why, and where it goes. */
export async function askOwnPassword(cli: Cli, { message }: CarillonError): Promise<string> {
  if (cli.world.stdin.isTTY) {
    cli.out.note(message);
    cli.announceServer((await cli.connection()).url);
  }
  return askPassword('Your password: ', cli.world);
}
