/** Everything with a life of its own looks like this. stop() resolves when nothing of it is left running. */
export interface Service {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}
