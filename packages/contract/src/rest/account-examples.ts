/** Examples of accounts for the documentation: one team of two, told in every body and answer. */
const USER_ID = '01893f2e-1111-7b3a-9d4e-5a6b7c8d9e0f';
const KEY_ID = '01893f2e-2222-7b3a-9d4e-5a6b7c8d9e0f';
const AT = '2030-01-02T09:00:00.000Z';

const grants = [
  { namespace: 'billing', role: 'viewer', own_only: false },
  { namespace: 'billing', role: 'editor', own_only: true },
] as const;

const user = {
  user_id: USER_ID,
  name: 'ada',
  display_name: 'Ada Lovelace',
  disabled: false,
  has_password: true,
  grants,
  created_at: AT,
  updated_at: AT,
};

const key = {
  key_id: KEY_ID,
  name: 'deploy pipeline',
  prefix: 'ck_k3m8x0q7wd',
  user_id: USER_ID,
  namespace: 'billing',
  role: 'editor',
  own_only: true,
  scopes: ['jobs.read', 'jobs.create'],
  created_at: AT,
  expires_at: '2031-01-01T00:00:00.000Z',
  last_used_at: null,
};

const session = {
  session_id: '01893f2e-3333-7b3a-9d4e-5a6b7c8d9e0f',
  user_id: USER_ID,
  created_at: AT,
  last_seen_at: AT,
  expires_at: '2030-01-09T09:00:00.000Z',
  address: '203.0.113.7',
  user_agent: 'Mozilla/5.0',
};

export const ACCOUNT_EXAMPLES = {
  namespace: { name: 'billing', description: 'Invoices and reminders', created_at: AT },
  namespaceBody: { name: 'billing', description: 'Invoices and reminders' },
  user,
  userBody: { name: 'ada', display_name: 'Ada Lovelace', password: 'a long phrase of her own', grants },
  grantsBody: { grants },
  passwordBody: { password: 'another long phrase', current_password: 'a long phrase of her own' },
  signInBody: { name: 'ada', password: 'a long phrase of her own' },
  signedIn: {
    user,
    csrf_token: 'qk1Jb0v1m3H2lq8mJm9c3kq0cF6m2mB7x7W1rY2nV8Q',
    expires_at: session.expires_at,
  },
  caller: {
    kind: 'user',
    id: USER_ID,
    name: 'ada',
    user_id: USER_ID,
    grants,
    scopes: null,
    csrf_token: 'qk1Jb0v1m3H2lq8mJm9c3kq0cF6m2mB7x7W1rY2nV8Q',
    expires_at: session.expires_at,
  },
  session,
  key,
  keyBody: {
    name: 'deploy pipeline',
    namespace: 'billing',
    role: 'editor',
    own_only: true,
    scopes: ['jobs.read', 'jobs.create'],
    expires_at: '2031-01-01T00:00:00Z',
  },
  createdKey: { ...key, key: 'ck_k3m8x0q7wd_Zr6cUo1b9w2Yx5sT8vQ0eL4hN7jM3kP6dF1gA9iB2cE' },
  audit: {
    audit_id: 4711,
    at: AT,
    actor: { kind: 'user', id: USER_ID, name: 'ada' },
    action: 'keys.create',
    namespace: 'billing',
    subject: { kind: 'key', id: KEY_ID },
    before: null,
    after: { name: 'deploy pipeline', prefix: 'ck_k3m8x0q7wd' },
    address: '203.0.113.7',
    user_agent: 'curl/8.5.0',
    request_id: '7d2f0f6e-3c6a-4f7e-9d43-0a1b2c3d4e5f',
  },
} as const;
