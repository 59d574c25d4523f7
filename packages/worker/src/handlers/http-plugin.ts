/** The built-in handler `http`, with what it is for and the payload it takes. */
import { HTTP_PARAMETERS } from '@carillon/domain';
import type { HandlerPlugin } from '../handler-plugin.ts';
import { createHttpHandler, type HttpHandlerOptions } from './http-handler.ts';

export function httpPlugin(options?: HttpHandlerOptions): HandlerPlugin {
  return {
    name: 'http',
    description: 'Sends one HTTP request, and judges it by the status of the answer.',
    parameters: HTTP_PARAMETERS,
    run: createHttpHandler(options),
  };
}
