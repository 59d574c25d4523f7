export { type StartedTestServer, startTestServer, type TestServerOptions } from './start-test-server.ts';
