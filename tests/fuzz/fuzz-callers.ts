/** Those who send random requests: each with what it shows at the door, and with what it may at most be answered. */
import {
  type Action,
  type Caller,
  DEFAULT_NAMESPACE,
  EVERYWHERE,
  type Grant,
  may,
  SERVER,
} from '@carillon/domain';
import type { Access } from '../../packages/server/src/gateway/api/operation.ts';
import { type GatewayFixture, KEY } from '../../packages/server/src/gateway/gateway.fixture.ts';
import type { FuzzCaller } from './request-arbitrary.ts';

const VIEWER: Grant = { namespace: DEFAULT_NAMESPACE, role: 'viewer', ownOnly: false };
const EDITOR: Grant = { namespace: DEFAULT_NAMESPACE, role: 'editor', ownOnly: false };
const ADMIN: Grant = { namespace: EVERYWHERE, role: 'admin', ownOnly: false };
const SCOPES: readonly Action[] = ['jobs.read', 'jobs.create', 'jobs.cancel', 'runs.read', 'users.read'];

export interface Asking {
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: nobody. */
  readonly caller: Pick<Caller, 'grants' | 'scopes'> | undefined;
  /** Whose session it is. */
  readonly userId?: string;
}

export class FuzzCallers {
  readonly #gateway: GatewayFixture;
  readonly #known = new Map<FuzzCaller, Asking>();
  #people = 0;

  constructor(gateway: GatewayFixture) {
    this.#gateway = gateway;
  }

  async find(as: FuzzCaller): Promise<Asking> {
    const known = this.#known.get(as) ?? (await this.#letIn(as));
    this.#known.set(as, known);
    if (known.userId === undefined) return known;
    // Other requests give people other grants, or remove them.
    const people = await this.#gateway.operations.listUsers({ limit: 1_000 });
    const { grants = [] } = people.find(({ userId }) => userId === known.userId) ?? {};
    return { ...known, caller: { grants, scopes: undefined } };
  }

  /** Another request revoked the key, or signed out: next time they come with a new one. */
  forget(as: FuzzCaller): void {
    this.#known.delete(as);
  }

  async #letIn(as: FuzzCaller): Promise<Asking> {
    switch (as) {
      case 'nobody':
        return { headers: {}, caller: undefined };
      case 'admin':
        return { headers: bearer(KEY), caller: SERVER };
      case 'viewer key': {
        const headers = bearer(await this.#gateway.keyWith(VIEWER));
        return { headers, caller: { grants: [VIEWER], scopes: undefined } };
      }
      case 'scoped key': {
        const headers = bearer(await this.#gateway.keyWith(ADMIN, { scopes: SCOPES }));
        return { headers, caller: { grants: [ADMIN], scopes: new Set(SCOPES) } };
      }
      case 'session': {
        this.#people += 1;
        const { name, userId } = await this.#gateway.person(`fuzz-${this.#people}`, [EDITOR]);
        return {
          headers: await this.#gateway.signIn(name),
          caller: { grants: [EDITOR], scopes: undefined },
          userId,
        };
      }
    }
  }
}

/** Whether what is asked may be answered at all; where it lies is judged by the test of roles. */
export function mayAsk({ caller }: Asking, access: Access): boolean {
  if (access === 'open') return true;
  if (caller === undefined) return false;
  if (access === 'self') return true;
  return [access].flat().some((action) => may({ ...SERVER, ...caller }, action));
}

function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}
