/** People, their keys and sessions, namespaces, and the record of who changed what. */
export type Role = 'viewer' | 'operator' | 'editor' | 'admin';

export interface Grant {
  /** `*` stands for every namespace and what belongs to none. */
  readonly namespace: string;
  readonly role: Role;
  /** Only jobs whose user_id is that of the user. */
  readonly own_only?: boolean;
}

export interface User {
  readonly user_id: string;
  readonly name: string;
  readonly display_name: string;
  readonly disabled: boolean;
  readonly has_password: boolean;
  readonly grants: readonly Grant[];
  readonly created_at: string;
  readonly updated_at: string;
}

export interface NewUser {
  readonly name: string;
  readonly display_name?: string;
  readonly password?: string;
  readonly grants?: readonly Grant[];
}

export interface UserChange {
  readonly display_name?: string;
  readonly disabled?: boolean;
}

export interface NewKey {
  readonly name: string;
  /** `*` for everywhere its owner may; left out: `default`. */
  readonly namespace?: string;
  readonly role: Role;
  readonly own_only?: boolean;
  /** Whose key it is; left out: yours. */
  readonly user_id?: string;
  /** Actions such as `jobs.create`; left out: all that the role allows. */
  readonly scopes?: readonly string[];
  readonly expires_at?: string;
}

export interface ApiKey {
  readonly key_id: string;
  readonly name: string;
  readonly prefix: string;
  /** Null: it belongs to the installation. */
  readonly user_id: string | null;
  readonly namespace: string;
  readonly role: Role;
  readonly own_only: boolean;
  readonly scopes: readonly string[] | null;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly created_at: string;
}

/** The key itself is shown this once. */
export interface CreatedKey extends ApiKey {
  readonly key: string;
}

export interface Namespace {
  readonly name: string;
  readonly description: string;
  readonly created_at: string;
}

export interface AuditEntry {
  readonly audit_id: number;
  readonly at: string;
  readonly actor: { readonly kind: string; readonly id: string; readonly name: string };
  readonly action: string;
  readonly namespace: string | null;
  readonly subject: { readonly kind: string; readonly id: string };
  /** The fields that changed, as they were and as they are. */
  readonly before: unknown;
  readonly after: unknown;
  readonly address: string | null;
  readonly user_agent: string | null;
  readonly request_id: string | null;
}

/** Whoever asks, as the server sees them. */
export interface Whoami {
  readonly kind: 'server' | 'user' | 'key';
  readonly id: string;
  readonly name: string;
  readonly user_id: string | null;
  readonly grants: readonly Grant[];
  readonly scopes: readonly string[] | null;
  readonly expires_at: string | null;
}

export interface SignedIn {
  readonly user: User;
  readonly csrf_token: string;
  readonly expires_at: string;
}
