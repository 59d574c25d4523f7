/** `npm start`: the server as a program of its own. */
import { runServer } from './run-server.ts';

process.exit(await runServer({ argv: process.argv.slice(2), env: process.env, cwd: process.cwd() }));
