/** The workloads that measure Carillon alone, against bars that name no peer; workloads/drain.ts is the one with peers. */
import type { TenantKind } from './fairness/tenants.ts';
import type { CarillonReport } from './report.ts';
import type { ServerUrls } from './stores.ts';
import { fairness } from './workloads/fairness.ts';
import { idle } from './workloads/idle.ts';
import { latency } from './workloads/latency.ts';
import { latencyHttp } from './workloads/latency-http.ts';
import { page } from './workloads/page.ts';
import { remote } from './workloads/remote.ts';
import { restart } from './workloads/restart.ts';
import { results } from './workloads/results.ts';
import { scale } from './workloads/scale.ts';
import { script } from './workloads/script.ts';
import { submit } from './workloads/submit.ts';

export type CarillonSettings = {
  /** Cuts every size, to see whether the bench itself works. */
  readonly quick: boolean;
  readonly rounds: number;
  /** Jobs of one drain. */
  readonly jobs: number;
  /** Runs at the same time; the server's own default unless told otherwise. */
  readonly slots: number;
  /** What the tenants of the fairness workload are. */
  readonly tenants: TenantKind;
  /** Runs of one tenant that wait while another submits. */
  readonly waiting: number;
  /** Scheduled jobs of the large store. */
  readonly scale: number;
  /** Rows of history in the large store. */
  readonly history: number;
};

export type CarillonRun = {
  readonly urls: ServerUrls;
  readonly postgresPid: number;
  readonly settings: CarillonSettings;
  readonly log: (line: string) => void;
  readonly abort: AbortSignal;
};

export type CarillonOutcome = Pick<
  CarillonReport,
  'method' | 'machineParts' | 'table' | 'findings' | 'figures'
>;

export interface CarillonWorkload {
  readonly name: string;
  readonly summary: string;
  /** A measurement that fails is a finding; what throws here is a fault of the bench. */
  run(run: CarillonRun): Promise<CarillonOutcome>;
}

export const carillonWorkloads: readonly CarillonWorkload[] = [
  results,
  submit,
  latency,
  latencyHttp,
  fairness,
  remote,
  script,
  restart,
  scale,
  page,
  idle,
];
