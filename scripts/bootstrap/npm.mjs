// Runs npm with a chosen Node, quietly, and keeps what it said for when it fails. An interrupt reaches npm too, so a
// stopped installation leaves no process behind.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { delimiter, dirname } from 'node:path';
import { Failure } from './failure.mjs';

const OUTPUT_CHARS_MAX = 64_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Resolves when npm exits with 0; otherwise throws a Failure that carries the end of its output. */
export function npm(args, { node, cwd }) {
  const [command, ...before] = npmCommand(node);
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...before, ...args], {
      cwd,
      env: npmEnvironment(node),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const keep = (chunk) => {
      output = (output + chunk).slice(-OUTPUT_CHARS_MAX);
    };
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);

    let interruptedBy;
    const interrupt = (signal) => {
      interruptedBy = signal;
      child.kill(signal);
    };
    for (const signal of SIGNALS) process.on(signal, interrupt);
    const settle = (action) => {
      for (const signal of SIGNALS) process.off(signal, interrupt);
      action();
    };
    child.on('error', (error) =>
      settle(() =>
        reject(new Failure(`npm could not be started (${error.message}). Install npm and try again.`)),
      ),
    );
    child.on('close', (code, signal) =>
      settle(() => {
        if (interruptedBy || signal) {
          reject(new Failure('interrupted', 128 + constants.signals[interruptedBy ?? signal]));
        } else if (code === 0) resolve();
        else reject(new Failure(`npm ${args[0]} failed:\n${indent(output)}\n${advice(output)}`));
      }),
    );
  });
}

// Under `npm start` the very npm that runs us is used, on the chosen Node; otherwise the one in PATH.
function npmCommand(node) {
  const cli = process.env.npm_execpath;
  return cli && /npm-cli\.c?js$/.test(cli) ? [node, cli] : ['npm'];
}

// What the outer npm says about its own project must not steer the inner one: a leftover local prefix or workspace
// choice would install into the wrong folder.
function npmEnvironment(node) {
  const environment = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (/^npm_(package|lifecycle)_|^npm_(command|node_execpath)$|^INIT_CWD$/.test(name)) continue;
    if (
      /^npm_config_(local_prefix|prefix|global_prefix|workspaces?|include_workspace_root|omit|include)$/.test(
        name,
      )
    )
      continue;
    environment[name] = value;
  }
  environment.PATH = [dirname(node), environment.PATH].filter(Boolean).join(delimiter);
  return environment;
}

function indent(output) {
  return output
    .replace(/\nnpm error (Clean install a project|Usage:)[\s\S]*$/, '')
    .trim()
    .split('\n')
    .slice(-25)
    .map((line) => `    ${line}`)
    .join('\n');
}

function advice(output) {
  if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH|ENOTCACHED|network/i.test(output)) {
    return 'The package registry does not answer. Check the network (or the proxy settings of npm) and run the same command again; what is already here is kept.';
  }
  if (/EINTEGRITY/.test(output)) {
    return 'A downloaded archive does not have the hash that this version of Carillon names for it. It may have been tampered with or cut short, so it was thrown away, and nothing of it was run. Check which registry or mirror npm uses, and run the same command again.';
  }
  if (/EACCES|EPERM|EROFS/.test(output)) {
    return 'This folder cannot be written by you. Run the command as its owner, or make a clone of your own.';
  }
  if (/ENOSPC/.test(output)) return 'The disk is full. Make room and run the same command again.';
  if (/can only install packages when your package\.json and package-lock\.json/.test(output)) {
    return 'package.json was edited without its lockfile. Run `npm install` once, and commit both.';
  }
  return 'Fix what npm reports above and run the same command again.';
}
