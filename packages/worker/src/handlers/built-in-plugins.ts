/** The built-in handlers `http` and `script`, with what they are for and the payload they take, for servers and for workers anywhere. */
import { HTTP_PARAMETERS, SCRIPT_HANDLER, SCRIPT_PARAMETERS } from '@carillon/domain';
import type { Log } from '@carillon/foundation';
import type { HandlerPlugin } from '../handler-plugin.ts';
import { createHttpHandler, type HttpHandlerOptions } from './http-handler.ts';
import { probeContainment } from './script/containment.ts';
import { locateHidden } from './script/hidden-paths.ts';
import { createScriptHandler, SCRIPT_DEFAULTS, type ScriptHandlerOptions } from './script/script-handler.ts';
import { scriptLabels } from './script/script-labels.ts';

export function httpPlugin(options?: HttpHandlerOptions): HandlerPlugin {
  return {
    name: 'http',
    description: 'Sends one HTTP request, and judges it by the status of the answer.',
    parameters: HTTP_PARAMETERS,
    run: createHttpHandler(options),
  };
}

/** Finds out what contains scripts on this machine, and warns where nothing does; says as labels which scripts it can run. */
export async function scriptPlugin({
  log,
  ...given
}: Partial<ScriptHandlerOptions> & { readonly log: Log }): Promise<HandlerPlugin> {
  const options = { ...SCRIPT_DEFAULTS, ...given };
  const { user, hidden } = options;
  const containment = options.containment ?? (await probeContainment(user, await locateHidden(hidden, user)));
  if (containment.kind === 'group')
    log.warn(
      {},
      'scripts run without a namespace of their own, which this machine does not allow: a program that hides can outlive its script, and scripts can read what their user can; see docs/scripts.md',
    );
  else log.debug({ containment, user }, 'scripts run in a namespace of their own');
  return {
    name: SCRIPT_HANDLER,
    description: 'Runs a program, and judges it by its exit code.',
    parameters: SCRIPT_PARAMETERS,
    labels: await scriptLabels(options),
    run: createScriptHandler({ ...options, containment }),
  };
}
